-- SPDX-License-Identifier: Apache-2.0
-- Items of net.keep's for tables of net.flow.flow: most classes need no more than this.

local ffi = require("ffi")
local C = require("core.declare")("net/keep/former.h")
local keep = require("net.keep.keep")

local tables = {}

--- Why records aren't used, as sentences have it.
tables.PASS = keep.PASS -- it is neither used nor missed
tables.OLD, tables.BAD = "out of time", "that no process writes so"

local REASONS = {
  [C.KEEP_OLD] = tables.OLD, [C.KEEP_TWICE] = keep.TWICE,
  [C.KEEP_FULL] = "above the capacity", [C.KEEP_BAD] = tables.BAD,
}

local number = ffi.new("uint32_t[1]")

--- Go on with a copy of a record in the table (net.flow.flow), as of `now`: its number,
--- or nil and why not.
function tables.restore(flows, record, now)
  local outcome = C.pg_keep_restore(flows.table, record, now, number)
  if outcome == C.KEEP_USED then return number[0] end
  return nil, REASONS[outcome]
end

--- How C restores records of the table (keep.records()): `call`, a keep_restore;
--- context(notes); `more`, why records aren't used, by what it returns beyond
--- KEEP_USED to KEEP_BAD.
function tables.in_c(flows, call, context, more)
  local reasons = {}
  for outcome, reason in pairs(REASONS) do reasons[outcome] = reason end
  for outcome, reason in pairs(more or {}) do reasons[outcome] = reason end
  return {call = call, reasons = reasons, context = context,
    indexes = function () return {flows.table.index} end}
end

-- Records that Lua needn't see.
local function alone(flows)
  return tables.in_c(flows, C.pg_keep_restore_into, function ()
    return ffi.new("struct keep_into", {flows.table})
  end)
end

--- An item for keep.records(). `o`: of, layout and notes as there; flows (the table);
--- now(), in the unit of the table; and, all optional, per_second (such units in a
--- second; 1000), check(record, notes), called with each record (a pointer to a copy,
--- which it may change): says why it is unused, if so (PASS: it is no business of this
--- process); used(record, number), with that in the table, once it is; restore, as
--- there, which does the same in C.
function tables.item(o)
  local flows = o.flows
  local pointer = ffi.typeof("$ *", flows.record_type)
  local function begin(notes)
    local now = o.now()
    return function (bytes)
      local record = ffi.cast(pointer, bytes)
      local problem = o.check and o.check(record, notes)
      if problem ~= nil then return problem end
      local n, why = tables.restore(flows, record, now)
      if not n then return why end
      if o.used then o.used(flows.record[n], n) end
    end
  end
  return {of = o.of, layout = o.layout, records = flows.table.records,
    notes = o.notes or "", per_second = o.per_second, begin = begin, now = o.now,
    restore = o.restore or not (o.check or o.used) and alone(flows) or nil}
end

return tables
