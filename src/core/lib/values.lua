-- SPDX-License-Identifier: Apache-2.0
-- Lua values compared, copied, checked and written for people. C data is compared
-- and copied by its bytes, but a pointer stands for its address.

local ffi = require("ffi")
local arguments = require("core.lib.arguments")
local failure = require("core.lib.failure")

local values = {}

-- Is the C data `x` a struct, a union or an array, that is, a value made of bytes?
-- Pointers, scalars and types (which are numbers to tonumber()) are not.
local function is_aggregate(x)
  local name = tostring(ffi.typeof(x))
  if name:find("[*&]>$") or name:find("(*", 1, true) then return false end
  return (name:find("^ctype<struct ") or name:find("^ctype<union ")
    or name:find("%]>$")) and tonumber(x) == nil
end

local function equal_cdata(x, y)
  if ffi.typeof(x) ~= ffi.typeof(y) or not is_aggregate(x) then return false end
  local size = ffi.sizeof(x)
  return size == ffi.sizeof(y) and ffi.string(x, size) == ffi.string(y, size)
end

-- `met` has the tables that are being compared: {[x] = {[y] = true}}. Where a cycle
-- leads back to a pair, nothing differs there.
local function equal(x, y, met)
  if type(x) ~= type(y) then return false end
  if x == y then return true end
  if type(x) == "cdata" then return equal_cdata(x, y) end
  if type(x) ~= "table" or getmetatable(x) or getmetatable(y) then return false end
  met[x] = met[x] or {}
  if met[x][y] then return true end
  met[x][y] = true
  for key, value in pairs(x) do
    if not equal(value, y[key], met) then return false end
  end
  for key in pairs(y) do
    if x[key] == nil then return false end
  end
  return true
end

--- Have `x` and `y` the same structure? Tables are compared key by key (those with
--- a metatable only by ==), structs and arrays of C byte by byte. Cycles are followed
--- once.
function values.equal(x, y) return equal(x, y, {}) end

local function copy(x, copies)
  if copies[x] then return copies[x] end
  if type(x) == "table" then
    local result = {}
    copies[x] = result
    for key, value in next, x do
      result[copy(key, copies)] = copy(value, copies)
    end
    return setmetatable(result, getmetatable(x))
  end
  return x
end

--- A copy of `x` that shares no table with it, but metatables. C data stays shared, as
--- in Snabb. Cycles are kept.
function values.deepcopy(x)
  if x == nil then return nil end
  return copy(x, {})
end

--- A new array with the elements of the array `orig`, which must have no holes.
function values.array_copy(orig)
  local result = {}
  for i = 1, #orig do result[i] = orig[i] end
  return result
end

--- A table that has `true` under each of the arguments.
function values.set(...)
  local result = {}
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    if value ~= nil then result[value] = true end
  end
  return result
end

-- "a, b (required), c": the parameters that `spec` allows.
local function describe(spec)
  local names = {}
  for name, rule in pairs(spec) do
    names[#names + 1] = tostring(name) .. (rule.required and " (required)" or "")
  end
  if #names == 0 then return "it takes none" end
  table.sort(names)
  return "it takes " .. table.concat(names, ", ")
end

--- Check the table of parameters `arg` (nil is the empty one) against `spec`,
--- {name = {required = boolean, default = value}, ...}. Returns a new table with
--- the defaults filled in; raises a usage failure for a missing or unknown name.
function values.parse(arg, spec)
  if arg == nil then arg = {} end
  if type(arg) ~= "table" then
    failure.usage("parameters must be a table, not the %s %s; %s",
      type(arg), tostring(arg), describe(spec))
  end
  for name, rule in pairs(spec) do
    if rule.required and arg[name] == nil then
      failure.usage("missing required parameter '%s'; %s", tostring(name),
        describe(spec))
    end
  end
  local result = {}
  for name, value in pairs(arg) do
    if not spec[name] then
      failure.usage("unrecognized parameter '%s'; %s", tostring(name), describe(spec))
    end
    result[name] = value
  end
  for name, rule in pairs(spec) do
    if result[name] == nil then result[name] = rule.default end
  end
  return result
end

-- The decimal text of a number, a 64-bit integer or a string of digits.
local function decimal(n)
  if type(n) == "cdata" then return (tostring(n):gsub("U?LL$", "")) end
  if type(n) == "number" and n == math.floor(n) and math.abs(n) < 2^63 then
    return ("%.0f"):format(n)
  end
  return tostring(n)
end

--- The number, 64-bit integer or numeric string `n` as text with a comma between
--- thousands: 1,234,567.
function values.comma_value(n)
  if n ~= n then return "NaN" end
  local text = decimal(n)
  local sign, digits, rest = text:match("^(%-?)(%d+)(.*)$")
  if not digits then return text end
  local grouped = digits:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", "")
  return sign .. grouped .. rest
end

--- "yes" or "no".
function values.yesno(flag)
  return flag and "yes" or "no"
end

--- The least multiple of `size` that is not below `value`.
function values.align(value, size)
  if not (tonumber(value) and tonumber(size)) then
    arguments.refuse("lib.align", tonumber(value) and 2 or 1,
      tonumber(value) and size or value, "a number")
  end
  local excess = value % size
  return excess == 0 and value or value - excess + size
end

return arguments.guard(values, "lib", {
  array_copy = "table", parse = "any?, table",
})
