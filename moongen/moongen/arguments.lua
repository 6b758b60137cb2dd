-- SPDX-License-Identifier: Apache-2.0
-- Methods of libmoon's objects say what they take (core.lib.arguments): tests are in
-- front of them, which compiled code knows the answers to.

local ffi = require("ffi")
local general = require("core.lib.arguments")

local arguments = setmetatable({}, {__index = general})
local refuse, shown = general.refuse, general.shown

local SAID = {buffers = "an array of buffers (mem:bufArray())"}

--- Raise the sentence for a method `name` that was called without its object, such as
--- "a pool", or on something else.
function arguments.without(name, self, object, level)
  error(("%s is a method of %s, called by a colon; it was called on %s"):format(name,
    object, shown(self)), level or 3)
end

--- The arguments of a function of `module` that is called with a dot or with a colon.
function arguments.of_either(module, first, ...)
  if first == module then return ... end
  return first, ...
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
        right, #parameters, v, SAID[takes] or general.said(takes))
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
