-- SPDX-License-Identifier: Apache-2.0
-- What programs give to functions: one sentence that names the function, the value and
-- what would be right, in the place of LuaJIT's own where the value is used.
-- `guard` puts a test before functions that aren't called for each packet. Those that
-- are test by themselves, so that compiled code knows the answer, and call `refuse`.

local ffi = require("ffi")
local failure = require("core.lib.failure")

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

-- At least `n` bytes: a string, an array or struct of C, or a pointer, of which nobody
-- knows how far it may be read.
local function bytes(n)
  return function (value)
    if type(value) == "string" then return #value >= n end
    if type(value) ~= "cdata" or tonumber(value) or value == nil then return false end
    return ffi.sizeof(value) >= n or tostring(ffi.typeof(value)):find("*", 1, true)
  end
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
  mapped = {"an object that shm.create or shm.open returned", function (value)
    return type(value) == "cdata"
  end},
  ip4 = {"the 4 bytes of an IPv4 address", bytes(4)},
  ip6 = {"the 16 bytes of an IPv6 address", bytes(16)},
  mac = {"the 6 bytes of a MAC address", bytes(6)},
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
  file = {"a file (io.open())", function (value)
    return io.type(value) == "file" or type(value) == "table"
      and (value.read ~= nil or value.write ~= nil)
  end},
  any = {"a value", function (value) return value ~= nil end},
}

--- What is said of that kind of argument: "a number".
function arguments.said(kind) return KINDS[kind] and KINDS[kind][1] end

-- Kinds whose text is taken as the number that it stands for.
local NUMBERS = {number = true, count = true, seconds = true}

-- "string, table?" as a list of {wanted, test, optional}.
local function read(text)
  local list = {}
  for word in text:gmatch("[^, ]+") do
    local name, optional = word:match("^(%a+%d?)(%??)$")
    local kind = KINDS[name]
    list[#list + 1] = {wanted = kind[1] .. (optional == "?" and ", or nil" or ""),
      test = kind[2], optional = optional == "?", number = NUMBERS[name]}
  end
  return list
end

--- What is wrong with a value that is called `what` and should be of that kind
--- ("number?": or nil), a sentence; nil: nothing.
function arguments.problem(what, kind, value)
  local name, optional = kind:match("^(%a+%d?)(%??)$")
  if value == nil and optional == "?" or KINDS[name][2](value) then return nil end
  return ("%s is %s; it takes %s%s"):format(what, shown(value), KINDS[name][1],
    optional == "?" and ", or nothing" or "")
end

--- Raise a usage failure with that sentence, if there is one.
function arguments.check(what, kind, value)
  local problem = arguments.problem(what, kind, value)
  if problem then failure.usage("%s", problem) end
end

--- The `value`, if it is a whole number from `least` to `most`; else a usage failure
--- that begins with `what`.
function arguments.whole(what, value, least, most)
  if type(value) ~= "number" or value % 1 ~= 0 or value < least or value > most then
    failure.usage("%s is a whole number from %.0f to %.0f, not %s", what, least, most,
      type(value) == "string" and shown(value) or "'" .. tostring(value) .. "'")
  end
  return value
end

--- The value of that kind: of a text for a number, that.
function arguments.value(kind, value)
  if type(value) ~= "string" or not NUMBERS[kind:match("^%a+")] then return value end
  return tonumber(value)
end

-- f(...), with numbers in the place of the texts for them.
local function with_numbers(kinds, f, ...)
  local list, n = {...}, select("#", ...)
  for i = 1, math.min(n, #kinds) do
    if kinds[i].number then list[i] = arguments.value("number", list[i]) end
  end
  return f(unpack(list, 1, n))
end

local function guarded(name, kinds, f)
  return function (...)
    local has_text = false
    for i = 1, #kinds do
      local value, kind = (select(i, ...)), kinds[i]
      if not (kind.optional and value == nil) and not kind.test(value) then
        refuse(name, i, value, kind.wanted)
      end
      has_text = has_text or kind.number and type(value) == "string"
    end
    if has_text then return with_numbers(kinds, f, ...) end
    return f(...)
  end
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

return arguments
