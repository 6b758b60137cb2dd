-- SPDX-License-Identifier: Apache-2.0
-- What can be sent to another Lua state, as a string: plain data, by LuaJIT's
-- string.buffer; a class by the module it is in and its name there.

local buffer = require("string.buffer")
local ffi = require("ffi")
local C = require("core.native")
local failure = require("core.failure")

local messages = {}

local BYTES = "\0bytes" -- marks a table that stands for an array in C memory

messages.encode, messages.decode = buffer.encode, buffer.decode

--- The text that a worker (`handle`) has sent next; nil if there is none.
function messages.from_worker(handle)
  local size = tonumber(C.pg_worker_next(handle, C.FROM_WORKER))
  if size < 0 then return nil end
  local text = ffi.new("char[?]", size + 1)
  C.pg_worker_take(handle, C.FROM_WORKER, text)
  return ffi.string(text, size)
end

-- Classes ------------------------------------------------------------------------

local function names_in(t)
  local names = {}
  for key in pairs(t) do
    if type(key) == "string" then names[#names + 1] = key end
  end
  table.sort(names)
  return names
end

local function search(class)
  local loaded = package.loaded
  for _, name in ipairs(names_in(loaded)) do
    local module = loaded[name]
    if name ~= "_G" and type(module) == "table" then
      if module == class then return {module = name} end
      for _, field in ipairs(names_in(module)) do
        if rawequal(rawget(module, field), class) then
          return {module = name, field = field}
        end
      end
    end
  end
end

--- Where another state finds the class of the app `name`: {module =, field =}.
--- Raises a failure if no loaded module has it.
function messages.class(name, class)
  return search(class) or failure.usage("app '%s' can't run on a CPU of its own: its "
    .. "class is in no module that another Lua state could load; put it into a file "
    .. "of its own, and require() that", name)
end

--- The class at such a place.
function messages.find_class(at)
  local module = require(at.module)
  return at.field and module[at.field] or module
end

-- Arguments ----------------------------------------------------------------------

local function refuse(app, path, what)
  failure.usage("app '%s' can't run on a CPU of its own: its argument%s is %s, which "
    .. "can't be sent to another Lua state", app, path, what)
end

local plain = {["nil"] = true, boolean = true, number = true, string = true}

-- "unsigned char [6]" of an array of numbers, or nil.
local function array_type(value)
  local text = tostring(ffi.typeof(value)):match("^ctype<(.*)>$")
  local element = text and text:match("^([%w_ ]-) %[%d+%]$")
  if not element or element:find("struct") or element:find("union") then return nil end
  return text
end

local function outgoing_cdata(app, path, value)
  if ffi.istype("int64_t", value) or ffi.istype("uint64_t", value) then return value end
  local text = array_type(value)
  if not text then refuse(app, path, "C data, " .. tostring(ffi.typeof(value))) end
  return {[BYTES] = text, ffi.string(value, ffi.sizeof(value))}
end

local function step(path, key)
  if type(key) == "string" and key:match("^[%a_][%w_]*$") then
    return ("%s%s%s"):format(path, path == "" and "'s field " or ".", key)
  end
  return ("%s%s[%s]"):format(path, path == "" and "'s field " or "", tostring(key))
end

local function outgoing(app, path, value, above)
  local kind = type(value)
  if plain[kind] then return value end
  if kind == "cdata" then return outgoing_cdata(app, path, value) end
  if kind ~= "table" then
    refuse(app, path, (kind == "function" or kind == "thread") and "a " .. kind
      or io.type(value) and "a file" or "userdata")
  end
  if above[value] then refuse(app, path, "a table that contains itself") end
  if getmetatable(value) then refuse(app, path, "an object with a metatable") end
  above[value] = true
  local copy = {}
  for key, item in pairs(value) do
    local where = step(path, key)
    if not plain[type(key)] then refuse(app, where, "keyed by a " .. type(key)) end
    copy[key] = outgoing(app, where, item, above)
  end
  above[value] = nil
  return copy
end

--- The argument of the app `name` as plain data. Raises a failure that names the part
--- of it that can't be sent.
function messages.argument(name, value)
  return outgoing(name, "", value, {})
end

--- The argument, of what messages.argument made of it.
function messages.received(value)
  if type(value) ~= "table" then return value end
  local text = value[BYTES]
  if text then
    local array = ffi.new(text)
    ffi.copy(array, value[1], ffi.sizeof(array))
    return array
  end
  for key, item in pairs(value) do value[key] = messages.received(item) end
  return value
end

return messages
