-- SPDX-License-Identifier: Apache-2.0
-- Forwarding databases that outlive the process (net.keep): learned entries go on, at
-- the ports that their numbers stand for now. Static ones are the configuration's.

local C = require("core.declare")("net/fdb/fdb.h")
local ffi = require("ffi")
local tables = require("net.keep.tables")

local kept = {}

--- Why an entry isn't used.
kept.GONE, kept.NO_SEGMENT = "of a port that is gone", "of a VNI that is gone"

local LAYOUT = "fdb_entry 1" -- of struct fdb_entry: another number with each change
local PORTS, MOST_OUTCOMES = 65536, 15
local GROUP = 1 -- in the first byte of an address, which is a key's lowest

local function port_of(record) return record.age.note[1] + record.age.note[2] * 256 end

local function set_port(record, port)
  record.age.note[1], record.age.note[2] = port % 256, math.floor(port / 256)
end

-- Fills the map, of PORTS numbers: what those of a list are now, or why they are none.
local function fill_map(map, list, now, outcome_of, default)
  for i = 0, PORTS - 1 do map[i] = default and -outcome_of(default) or i end
  for _, number in ipairs(list) do
    local n, why = now(number)
    if number < PORTS then map[number] = n or -outcome_of(why) end
  end
end

-- How C restores entries, so that many can wait until they are looked up.
local function in_c(database, o)
  local restore = tables.in_c(database.flows, C.pg_fdb_restore, nil,
    {[C.FDB_PASSED] = tables.PASS})
  function restore.context(notes)
    local into = ffi.new("struct fdb_into", {table = database.flows.table,
      uses = o.uses})
    local outcomes, last = {}, C.FDB_UNUSED - 1
    local function outcome_of(why)
      if not outcomes[why] then
        last = math.min(last + 1, MOST_OUTCOMES)
        outcomes[why], restore.reasons[last] = last, why
      end
      return outcomes[why]
    end
    fill_map(into.port, o.numbers(notes), function (n) return o.port(n, notes) end,
      outcome_of, kept.GONE)
    fill_map(into.segment, o.segments and o.segments() or {}, o.segment, outcome_of,
      o.segments and kept.NO_SEGMENT)
    return into
  end
  restore.at_once = o.at_once
  return restore
end

--- An item for net.keep of the database. `o`: of; notes (a text) and port(number,
--- notes), which says what port the number of a former process is now; nil and why it
--- is none. With numbers(notes), which numbers there were, a list, entries can be
--- looked up before all have been restored. Optional with that: segments(), which
--- segments there were, a list, and segment(number), as port(); uses, an array that
--- counts entries of each port; at_once(), must all be restored before packets come?
function kept.item(database, o)
  local f = database.fdb

  local function check(record, notes)
    if record.age.list == C.FDB_STATIC then return tables.PASS end
    if record.key % 2 == GROUP then return tables.BAD end
    local port, why = o.port(port_of(record), notes)
    if not port then return why end
    set_port(record, port)
  end

  return tables.item{of = o.of, layout = LAYOUT, flows = database.flows,
    notes = o.notes, per_second = 1, check = check,
    now = function () return f.now - 1 end,
    restore = o.numbers and in_c(database, o) or nil}
end

--- For kept.item(): notes, and functions port() and numbers(), for ports of such names,
--- by number, from 0 or 1 on.
function kept.by_name(names)
  local lines, numbers = {}, {}
  for i = 0, #names do
    if names[i] then
      lines[#lines + 1] = ("%d %s\n"):format(i, names[i])
      numbers[names[i]] = i
    end
  end
  local read, before = nil, {}
  local function read_notes(notes)
    if read == notes then return before end
    read, before = notes, {}
    for n, name in notes:gmatch("(%d+) ([^\n]*)\n") do before[tonumber(n)] = name end
    return before
  end
  local function numbers_of(notes)
    local list = {}
    for n in pairs(read_notes(notes)) do list[#list + 1] = n end
    return list
  end
  local function port(number, notes)
    read_notes(notes)
    local now = before[number] and numbers[before[number]]
    if not now then return nil, kept.GONE end
    return now
  end
  return table.concat(lines), port, numbers_of
end

return kept
