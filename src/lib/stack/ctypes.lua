-- SPDX-License-Identifier: Apache-2.0
-- A layout's C types. There are two with the same members: the methods of one are for
-- packet loops, those of the other for slow code (see accessors.lua). They are made
-- once a layout, and stay.

local ffi = require("ffi")
local accessors = require("lib.stack.layout.accessors")
local address = require("lib.stack.address")
local members = require("lib.stack.layout.members")
local missing = require("lib.stack.layout.missing")
local luajit = require("core.luajit")

local header = {}

local u32, u64 = ffi.typeof("uint32_t"), ffi.typeof("uint64_t")
local i64 = ffi.typeof("int64_t")

local function exactly(value, bytes)
  if type(value) == "string" and #value ~= bytes then
    error(("%d bytes are wanted, not %d"):format(bytes, #value), 3)
  elseif type(value) ~= "string" and type(value) ~= "cdata" then
    error(("a string of %d bytes is wanted, not a %s"):format(bytes, type(value)), 3)
  end
  return value
end

local function hex(text)
  return (text:gsub(".", function (c) return ("%02x"):format(c:byte()) end))
end

-- Text of a field's value: its name where it has one.
local function shower(layout)
  return function (name, value)
    if type(value) == "string" then return hex(value) end
    if type(value) == "boolean" then value = value and 1 or 0 end
    local names = layout.by_name[name].values
    local text = tostring(value):gsub("U?LL$", "")
    return names and names[tonumber(value)] or text
  end
end

-- The number that a setter was given as something else than a number.
local function number_taker(layout, title)
  return function (value, name)
    local number = tonumber(value)
    if not number then
      error(("%s:set%s takes a number, not %s"):format(title, name,
        type(value) == "string" and "'" .. value .. "'" or "a " .. type(value)), 3)
    end
    return layout.by_name[name].cell.bytes > 4 and type(value) == "cdata" and value
      or number
  end
end

local slow_number_taker = luajit.copy(number_taker)

-- Says of a method that it was called without its header.
local function told_of(title)
  return function (self, name)
    error(("%s:%s is called with its header, by a colon, not with %s"):format(title,
      name, type(self) == "string" and "'" .. self .. "'" or tostring(self)), 3)
  end
end

local function compile(layout, title, slow, one, other)
  local source = accessors.source(layout, slow)
  local chunk = assert(loadstring(source, "=" .. title .. (slow and " (slow)" or "")))
  return chunk(bit.band, bit.bor, bit.bnot, bit.lshift, bit.rshift, bit.arshift,
    bit.bswap, ffi.cast, ffi.copy, ffi.string, u32, u64, i64, address.Ip6, exactly,
    shower(layout), math.floor, ffi.istype,
    (slow and slow_number_taker or number_taker)(layout, title), one, other,
    told_of(title))
end

--- Give the layout its types: `fast` and `slow` (the methods), `fast_type`,
--- `fast_pointer` and `slow_pointer` (C types; the last two are of pointers). `extra`
--- are further methods (a definition's).
--- Raises a sentence if the declaration can't be read by C.
function header.build(layout, title, extra)
  local ok, fast_type = pcall(ffi.typeof, layout.slots)
  if not ok then
    error(("protocol '%s': a member's name can't be used in C: %s")
      :format(title, tostring(fast_type)), 0)
  end
  local slow_type = ffi.typeof(layout.slots)
  local fast = compile(layout, title, false, fast_type, slow_type)
  local slow = compile(layout, title, true, slow_type, fast_type)
  for name, method in pairs(slow) do
    if name:match("String$") then fast[name] = method end
  end
  for name, method in pairs(extra or {}) do
    fast[name], slow[name] = method, luajit.copy(method)
  end
  for c_type, methods in pairs{[fast_type] = fast, [slow_type] = slow} do
    local more = ("`perigee proto %s` lists its fields"):format(title)
    local index, newindex = members.of(layout, title, methods,
      missing.guard(methods, title, {}, more, 2))
    ffi.metatype(c_type, missing.operators({__index = index, __newindex = newindex},
      "the header " .. title, more))
  end
  layout.fast, layout.slow = fast, slow
  layout.fast_type = fast_type
  layout.fast_pointer = ffi.typeof("$ *", fast_type)
  layout.slow_pointer = ffi.typeof("$ *", slow_type)
  return layout
end

return header
