-- SPDX-License-Identifier: Apache-2.0
-- What programs give to functions: one sentence that names the function, the value and
-- what would be right, in the place of LuaJIT's own where the value is used.
-- `guard` puts a test before functions that aren't called for each packet. Those that
-- are test by themselves, so that compiled code knows the answer, and call `refuse`.

local ffi = require("ffi")

local arguments = {}

local MOST_SHOWN = 40

--- A value as a sentence shows it: short, on one line.
function arguments.shown(value)
  local of = type(value)
  if of == "string" then
    local text = #value > MOST_SHOWN and value:sub(1, MOST_SHOWN) .. "..." or value
    return "'" .. text:gsub("[%c\127-\255]", "?") .. "'"
  elseif of == "cdata" and not tonumber(value) then
    return (tostring(ffi.typeof(value)):gsub("^ctype", "cdata"))
  elseif of == "nil" or of == "number" or of == "boolean" or of == "cdata" then
    return tostring(value)
  end
  return "a " .. of
end
local shown = arguments.shown

--- Raise the sentence for argument `i` of `name`, which takes `wanted` ("a link"), at
--- `level` (3: where the function that calls this was called).
function arguments.refuse(name, i, value, wanted, level)
  error(("%s: argument %d is %s; it takes %s"):format(name, i, shown(value), wanted),
    level or 3)
end
local refuse = arguments.refuse

-- What a number, a 64-bit integer or the text of one is as a number; nil of NaN, too.
local function number_of(value)
  local n = type(value) ~= "boolean" and tonumber(value)
  return n and n == n and n or nil
end

local function of_type(name)
  return function (value) return type(value) == name end
end

-- Kinds of arguments: what is said of them, and the test.
local KINDS = {
  string = {"a string", of_type("string")},
  table = {"a table", of_type("table")},
  ["function"] = {"a function", function (value)
    local meta = type(value) == "table" and getmetatable(value)
    return type(value) == "function" or type(meta) == "table" and meta.__call ~= nil
  end},
  number = {"a number", function (value) return number_of(value) ~= nil end},
  count = {"a whole number from 0 on", function (value)
    local n = number_of(value)
    return n and n >= 0 and n % 1 == 0 and n < 2 ^ 53
  end},
  seconds = {"a number of seconds from 0 on", function (value)
    local n = number_of(value)
    return n and n >= 0
  end},
  pointer = {"a pointer or an array", function (value)
    return type(value) == "cdata" and not tonumber(value) or type(value) == "string"
  end},
  text = {"a string or a number", function (value)
    return type(value) == "string" or type(value) == "number"
  end},
  timer = {"a timer (timer.new())", function (value)
    return type(value) == "table" and number_of(value.ticks) ~= nil
  end},
  ctype = {"a C type", function (value)
    return (type(value) == "string" or type(value) == "cdata")
      and pcall(ffi.typeof, value)
  end},
  declaration = {"a C type", function (value)
    return (type(value) == "string" or tostring(value):find("^ctype<"))
      and pcall(ffi.typeof, value)
  end},
  configuration = {"a configuration (config.new())", function (value)
    return type(value) == "table" and type(value.apps) == "table"
      and type(value.links) == "table"
  end},
  buffers = {"an array of buffers (mem:bufArray())"}, -- libmoon's
  any = {"a value", function (value) return value ~= nil end},
}

-- "string, table?" as a list of {wanted, test, optional}.
local function read(text)
  local list = {}
  for word in text:gmatch("[^, ]+") do
    local name, optional = word:match("^(%a+)(%??)$")
    local kind = KINDS[name]
    list[#list + 1] = {wanted = kind[1] .. (optional == "?" and ", or nil" or ""),
      test = kind[2], optional = optional == "?"}
  end
  return list
end

local function guarded(name, kinds, f)
  return function (...)
    for i = 1, #kinds do
      local value, kind = (select(i, ...)), kinds[i]
      if not (kind.optional and value == nil) and not kind.test(value) then
        refuse(name, i, value, kind.wanted)
      end
    end
    return f(...)
  end
end

--- Raise the sentence for a method `name` that was called without its object, such as
--- "a pool", or on something else.
function arguments.without(name, self, object, level)
  error(("%s is a method of %s, called by a colon; it was called on %s"):format(name,
    object, shown(self)), level or 3)
end

--- Put a test before functions of the table `module`, which sentences call `title`
--- (nil: functions by their own names): `functions` has the kinds of their arguments,
--- {add = "string, number?"}. Returns the module.
function arguments.guard(module, title, functions)
  for name, text in pairs(functions) do
    module[name] = guarded(title and title .. "." .. name or name, read(text),
      module[name])
  end
  return module
end

-- What compiled code can tell of argument `v` by its type alone.
local BY_TYPE = {
  number = "type(v) == 'number' or type(v) == 'cdata' and tonumber(v)",
  string = "type(v) == 'string'", table = "type(v) == 'table'",
  ["function"] = "type(v) == 'function'",
  pointer = "type(v) == 'cdata' and not tonumber(v)",
  buffers = "type(v) == 'cdata' and istype('struct mg_buffers', v)",
}
-- Scripts pass on what they got from a command line.
local TEXT_TOO = "type(v) ~= 'boolean' and tonumber(v)"
local LETTERS = {"a", "b", "c", "d", "e", "f"}

-- Source of a method with tests in front of it.
local function method_source(test, text, result, lenient)
  local list = text == "" and "" or ", "
  local parameters, tests = {}, {}
  for word in text:gmatch("[^, ]+") do
    local takes, optional = word:match("^(%a+)(%??)$")
    local v = LETTERS[#parameters + 1]
    parameters[#parameters + 1] = v
    if takes ~= "any" then
      local by_type = lenient and takes == "number" and TEXT_TOO or BY_TYPE[takes]
      local right = by_type:gsub("%f[%w]v%f[%W]", v)
      if optional == "?" then right = v .. " == nil or " .. right end
      tests[#tests + 1] = ("if not (%s) then refuse(name, %d, %s, %q) end"):format(
        right, #parameters, v, KINDS[takes][1])
    end
  end
  list = list .. table.concat(parameters, ", ")
  return ([[
local f, name, object, T, istype, type, tonumber, refuse, without = ...
return function (self%s)
if not (%s) then without(name, self, object) end
%s
%s
end]]):format(list, test, table.concat(tests, "\n"), (result:gsub("%%", list)))
end

--- Put tests before methods of the table `methods`, which compiled code knows the
--- answers to. They are called on `object` ("a pool"): of the C type `of`, or a table
--- with the field of that name. `functions` has the kinds of what else they take
--- (number, string, table, function, any), up to six; those of C types return up to
--- three values.
function arguments.methods(methods, object, of, functions)
  local test = type(of) == "string" and ("type(self) == 'table' and self.%s ~= nil")
    :format(of) or "istype(T, self)"
  -- LuaJIT gives up a trace with more than 15 tail calls.
  local result = type(of) == "string" and "return f(self%)"
    or "local x, y, z = f(self%) return x, y, z"
  for name, text in pairs(functions) do
    methods[name] = assert(loadstring(method_source(test, text, result,
      type(of) == "string"), "=" .. name))(
      methods[name], name, object, of, ffi.istype, type, tonumber, refuse,
      arguments.without)
  end
end

return arguments
