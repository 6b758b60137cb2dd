-- SPDX-License-Identifier: Apache-2.0
-- What numbers in kept records stand for, where that changes while the process runs:
-- the ends of a tunnel, say. (What stays the same is in an item's notes.) A record
-- each, of a kind, a number and up to 16 bytes.

local ffi = require("ffi")
local flow = require("net.flow.flow")
local keep = require("net.keep.keep")

local names = {}

local LAYOUT = "name 1" -- of the record below: another number with each change
local LONGEST = 16

local key_t = ffi.typeof("struct { uint32_t kind, number; }")
local value_t = ffi.typeof("struct { uint8_t byte[16]; uint32_t length, unused; }")
local key = ffi.new(key_t)

local Names = {}
Names.__index = Names

--- No names yet, and room for `most`.
function names.new(most)
  return setmetatable({before = {},
    flows = flow.new{key = key_t, value = value_t, limit = most}}, Names)
end

local function key_of(kind, number)
  key.kind, key.number = kind, number
  return key
end

--- That number of that kind (from 0 on) stands for these bytes, up to 16, from now on.
function Names:set(kind, number, bytes)
  local flows = self.flows
  local n, is_new = flows:add(key_of(kind, number))
  if n == 0 then return end
  if not is_new then -- never half of one and half of the other
    flows:remove(n)
    n = flows:add(key_of(kind, number))
  end
  local value = flows.record[n].value
  ffi.copy(value.byte, bytes, math.min(#bytes, LONGEST))
  value.length = math.min(#bytes, LONGEST)
end

--- It stands for nothing any more.
function Names:clear(kind, number)
  local n = self.flows:find(key_of(kind, number))
  if n ~= 0 then self.flows:remove(n) end
end

--- What the number stood for in the process before this one, bytes; or nil.
function Names:former(kind, number)
  return self.before[kind] and self.before[kind][number]
end

--- An item for keep.records(), to go before those whose numbers these are.
function Names:item(of)
  local pointer = ffi.typeof("$ *", self.flows.record_type)
  return {of = of, layout = LAYOUT, notes = "", records = self.flows.table.records,
    begin = function ()
      return function (bytes)
        local record = ffi.cast(pointer, bytes)
        local kind, length = record.key.kind, record.value.length
        if length <= LONGEST and length > 0 then
          self.before[kind] = self.before[kind] or {}
          self.before[kind][record.key.number] = ffi.string(record.value.byte, length)
        end
        return keep.PASS
      end
    end}
end

return names
