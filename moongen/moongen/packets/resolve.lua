-- SPDX-License-Identifier: Apache-2.0
-- The headers that a packet's own bytes announce, as a stack of libmoon's form; never
-- beyond the packet's last byte.

local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local headers = require("moongen.packets.headers")
local read16 = require("net.wire.bytes").read16
local stack = require("moongen.packets.stack")

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local bytes_t = ffi.typeof("uint8_t *")

local MAX_HEADERS = 16
-- A C type stays for good: packets from outside mustn't have one made for each
-- combination of headers they come up with.
local MAX_STACKS = 200
local n_stacks = 0

local VLAN, TAGS = ether_type.VLAN, ether_type.TAGS

-- The subtype of the header at `at` where `left` bytes are left.
local function subtype_of(name, at, left)
  if name == "sflow" and left >= 8 and at[7] == 2 then return "ip6" end
  if name ~= "eth" or left < 18 or not TAGS[read16(at + 12)] then return nil end
  if left >= 22 and read16(at + 16) == VLAN then return "qinq" end
  return "vlan"
end

local function unique_name(name, seen)
  local member, n = name, 1
  while seen[member] do
    n = n + 1
    member = name .. n
  end
  seen[member] = true
  return member
end

-- The next header at `at`: an argument for createStack, its size, and what follows it;
-- nil if it isn't there whole.
local function next_item(name, at, left, seen)
  local subtype = subtype_of(name, at, left)
  local type_ = headers.type_of(name, subtype, 0, stack.proto[name])
  if not type_ or left < type_.size then return nil end
  local header = ffi.cast(ffi.typeof("$ *", type_.ctype), at)
  local variable = header:getVariableLength()
  variable = variable and variable > 0 and variable or nil
  if variable and left < type_.size + variable then variable = nil end
  local argument = {name, name = unique_name(name, seen), subType = subtype,
    length = variable}
  return argument, type_.size + (variable or 0), header:resolveNextHeader()
end

local function simplest(argument)
  if argument.name == argument[1] and not argument.subType and not argument.length then
    return argument[1]
  end
  return argument
end

local function cast_of(arguments)
  local found = stack.made(arguments)
  if found then return found end
  if n_stacks >= MAX_STACKS then return nil end
  n_stacks = n_stacks + 1
  return stack.create(unpack(arguments))
end

-- The longest run of these headers that there is a stack for.
local function longest(arguments)
  for n = #arguments, 0, -1 do
    local cast = cast_of({unpack(arguments, 1, n)})
    if cast then return cast end
  end
end

local MOST_BYTES = 2048 -- of a buffer: where the packet's length isn't known

--- The packet at `data`, of `length` bytes, under the stack that it announces; headers
--- that `shape` (of lib stack's) has already are believed.
function stack.resolve(data, length, shape)
  local at, left = ffi.cast(bytes_t, data), length or MOST_BYTES
  local arguments, seen, name = {}, {}, "eth"
  local known = shape and shape.items or {}
  for i = 1, #known - 1 do
    arguments[i] = shape.arguments[i]
    seen[known[i].name] = true
    at, left = at + known[i].size, left - known[i].size
  end
  if #known > 0 then
    name = known[#known].proto
  elseif shape then
    name = nil
  end
  while name and #arguments < MAX_HEADERS do
    local argument, size, next_name = next_item(name, at, left, seen)
    if not argument then break end
    if #arguments + 1 == #known then argument.name = known[#known].name end
    arguments[#arguments + 1] = simplest(argument)
    at, left, name = at + size, left - size, next_name
  end
  if #arguments < #known then return data end
  local cast = longest(arguments)
  return ffi.cast(stack.shape(cast).pointer, data)
end

return stack.resolve
