-- SPDX-License-Identifier: Apache-2.0
-- What of rewriters' flows outlives the process: those of inputs that do the same with
-- new flows in the next one. The rewriters of a set share a file; its notes say what
-- the numbers in the records stand for, a line for each kind and input.

local ffi = require("ffi")
local C = require("core.declare")("native/flows.h")
local inputs = require("click.rewriter.inputs")
local keep = require("net.keep.keep")

local LAYOUT = "click_flow 1" -- of struct click_flow: another number with each change
local FIELDS = {"tcp", "other"}
local REASONS = {
  [C.KEPT_UNKNOWN] = "of an input that is another now",
  [C.KEPT_OLD] = "out of time",
  [C.KEPT_BAD] = "that no rewriter writes so",
  [C.KEPT_TWICE] = keep.TWICE,
  [C.KEPT_SHIFTED] = "whose TCP sequence numbers were changed",
  [C.KEPT_ELSEWHERE] = "whose answers come to another CPU",
  [C.KEPT_NO_ROOM] = "above the capacity",
}

-- What is the same for an input that does the same, on one line.
local function text_of(e, field, i)
  local spec = e.specs[i]
  local mapper = spec.mapper and spec.mapper.name or ""
  local text = ("%s %s %s %d %s %s %s %s"):format(e.name, e.class.name, field, i,
    spec.kind, tostring(spec.forward), tostring(spec.reply), mapper)
  return (text .. " " .. inputs.text(spec, 0)):gsub("%s+", " ")
end

-- f(kind, input (from 0), text, rewriter) for all of a set.
local function each_input(set, f)
  for _, e in ipairs(set.rewriters) do
    for _, field in ipairs(FIELDS) do
      local kind = e.native[field]
      for i = 1, kind >= 0 and e.ninputs or 0 do
        f(kind, i - 1, text_of(e, field, i), e)
      end
    end
  end
end

local function notes_of(set)
  local lines = {}
  each_input(set, function (kind, input, text)
    lines[#lines + 1] = ("%d %d %s\n"):format(kind, input, text)
  end)
  return table.concat(lines)
end

local function is_number(n) return n ~= nil and n < C.NO_FLOW end

-- By which numbers the flows of the notes go on.
local function heirs_of(set, notes)
  local heirs, now = ffi.new("struct click_heirs"), {}
  ffi.fill(heirs, ffi.sizeof(heirs), 255)
  each_input(set, function (kind, input, text, e)
    now[text] = {kind = kind, input = input}
    heirs.outputs[kind] = math.min(e.noutputs, 255)
  end)
  for line in notes:gmatch("[^\n]+") do
    local kind, input, text = line:match("^(%d%d?%d?) (%d%d?%d?) (.*)$")
    local heir = now[text]
    kind, input = tonumber(kind), tonumber(input)
    if heir and is_number(kind) and is_number(input) then
      heirs.kind[kind], heirs.input[kind][input] = heir.kind, heir.input
    end
  end
  return heirs
end

--- The item of net.keep's for the rewriter's flows; nil: another one has them.
return function (self)
  local set = self.set
  if not set or set.rewriters[1] ~= self then return nil end
  local flows = set.flows
  local restore = {
    call = C.pg_flows_restore_into, own = C.pg_flows_is_own, reasons = REASONS,
    context = function (notes)
      local heirs = heirs_of(set, notes)
      return ffi.new("struct click_into", {flows, heirs}), heirs
    end,
    indexes = function ()
      local list = {}
      for i = 0, flows.kinds - 1 do list[i + 1] = flows.kind[i].index end
      return list
    end,
  }
  return {
    of = self.name, layout = LAYOUT, records = set.flows.records, notes = notes_of(set),
    restore = restore, now = function () return self:time() end, owner = set,
  }
end
