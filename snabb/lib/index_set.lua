-- SPDX-License-Identifier: Apache-2.0
-- A set that numbers its members: each has the smallest number from 0 on that was free
-- when it was added. `set[member]` is its number.

local index_set = {}
index_set.__index = index_set

local insides = setmetatable({}, {__mode = "k"}) -- set -> {max, name, member by number}

--- A set of up to `max` members; `name` is for the error of one that is full.
function index_set:new(max, name)
  local set = setmetatable({}, self)
  insides[set] = {max = max, name = tostring(name), members = {}, free = 0}
  return set
end

--- The member with that number, or nil.
function index_set:search(number)
  return insides[self].members[number]
end

--- Add `member`: its number, and whether it is new. Raises an error if the set is full.
function index_set:add(member)
  local number = rawget(self, member)
  if number then return number, false end
  local own = insides[self]
  number = own.free
  if number >= own.max then error(own.name .. " overflow", 2) end
  own.members[number] = member
  rawset(self, member, number)
  while own.members[own.free] ~= nil do own.free = own.free + 1 end
  return number, true
end

--- Remove `member`; its number, or nil if it wasn't one.
function index_set:pop(member)
  local number = rawget(self, member)
  if not number then return nil end
  local own = insides[self]
  own.members[number] = nil
  own.free = math.min(own.free, number)
  rawset(self, member, nil)
  return number
end

return index_set
