-- SPDX-License-Identifier: Apache-2.0
-- What programs give to methods of headers: a sentence where it isn't of the right
-- type. Methods that are called for each packet look at the type by themselves, which
-- compiled code knows, and call these where it isn't the usual one.

local arguments = require("core.lib.arguments")

local check = {}

local KINDS = {[4] = "ip4", [6] = "mac", [16] = "ip6"}

local function refuse(problem) error(problem, 4) end

--- The value of a field as a number; of true and false 1 and 0.
function check.number(name, value)
  if type(value) == "boolean" then return value and 1 or 0 end
  local problem = arguments.problem(name .. "()'s argument", "number", value)
  if problem then refuse(problem) end
  return tonumber(value)
end

--- `size` bytes: a pointer, an array, or a string that has them.
function check.bytes(name, value, size)
  local kind = KINDS[size]
  if kind then
    local problem = arguments.problem(name .. "()'s argument", kind, value)
    if problem then refuse(problem) end
  elseif type(value) ~= "string" or #value < size then
    refuse(("%s()'s argument is %s; it takes a pointer to %d bytes"):format(name,
      arguments.shown(value), size))
  end
end

--- The arguments of new_from_mem(); the size as a number.
function check.memory(memory, size)
  local problem = arguments.problem("new_from_mem()'s memory", "pointer", memory)
    or arguments.problem("new_from_mem()'s size", "number", size)
  if problem then refuse(problem) end
  if type(memory) == "string" and #memory < tonumber(size) then
    refuse(("new_from_mem()'s string has %d bytes, not %d"):format(#memory, size))
  end
  return tonumber(size)
end

--- An address (`what`: "IPv4") as text.
function check.text(what, value)
  if type(value) == "string" then return end
  refuse(("an %s address as text is a string, not %s"):format(what,
    arguments.shown(value)))
end

--- What a checksum is over: a pointer and bytes.
function check.payload(name, pointer, length)
  local problem = arguments.problem(name .. "()'s first argument", "pointer", pointer)
    or arguments.problem(name .. "()'s second argument", "number", length)
  if problem then refuse(problem) end
end

--- A table of a header's fields, new()'s argument.
function check.fields(name, value)
  if type(value) == "table" then return end
  local problem = arguments.problem(name .. ":new()'s argument", "table", value)
  if problem then refuse(problem) end
end

return check
