-- SPDX-License-Identifier: Apache-2.0
-- What goes from one Lua state to another, as a string: arguments and results of tasks,
-- what is sent through pipes and kept in namespaces. Plain data are copied; objects go
-- as their metatable's __serialize says; pointers as addresses; functions not at all.

local buffer = require("string.buffer")
local ffi = require("ffi")

local serialize = {}

-- Keys of tables that stand for something else. No script's key begins like this.
local CODE, REF, ID, BYTES, POINTER = "\0code", "\0ref", "\0id", "\0bytes", "\0pointer"

-- Encoding ------------------------------------------------------------------------

local outgoing

local function type_of(value)
  return tostring(ffi.typeof(value)):match("^ctype<(.*)>$")
end

local function outgoing_cdata(value)
  if ffi.istype("int64_t", value) or ffi.istype("uint64_t", value) then return value end
  local text = type_of(value)
  if text:match("^[%a ]* %d+ ?[*&]*$") then
    error("C data of a type without a name can't go to another task: " .. text, 0)
  end
  if text:match("[*&]$") or text:match("%)$") then -- a pointer
    text = text:gsub("&$", "*")
    local pointer = ffi.cast("void *", value)
    return {[POINTER] = text, tonumber(ffi.cast("uintptr_t", pointer))}
  end
  local size = ffi.sizeof(value)
  local pointer = ffi.cast("const char *", ffi.istype("struct packet", value)
    and ffi.cast("void *", ffi.cast("uint8_t *", value)) or value)
  return {[BYTES] = text, ffi.string(pointer, size)}
end

local function outgoing_table(t, seen)
  local meta = debug.getmetatable(t)
  if type(meta) == "table" and rawget(meta, "__serialize") then
    local text, is_code = meta.__serialize(t)
    if is_code then return {[CODE] = text} end
    if text ~= t then return outgoing(text, seen) end
  end
  local copy = {}
  seen[t] = copy
  for key, value in pairs(t) do
    local k = outgoing(key, seen)
    if k ~= nil then copy[k] = outgoing(value, seen) end
  end
  return copy
end

-- A table that was met before is told by a number.
local function again(copy, seen)
  if not copy[ID] then
    seen.last = (seen.last or 0) + 1
    copy[ID] = seen.last
  end
  return {[REF] = copy[ID]}
end

function outgoing(value, seen)
  local kind = type(value)
  if kind == "table" then
    local before = seen[value]
    if before then return again(before, seen) end
    return outgoing_table(value, seen)
  end
  if kind == "cdata" then
    local ok, text, is_code = pcall(function ()
      local method = value.__serialize
      if type(method) == "function" then return method(value) end
    end)
    if ok and is_code then return {[CODE] = text} end
    return outgoing_cdata(value)
  end
  if kind == "function" then return nil end
  if kind == "userdata" or kind == "thread" then return tostring(value) end
  return value
end

--- The values, nils among them, as one string.
function serialize.encode(...)
  local list = {n = select("#", ...), ...}
  return buffer.encode(outgoing(list, {}))
end

-- Decoding ------------------------------------------------------------------------

local function collect(value, found)
  if type(value) ~= "table" then return end
  if value[ID] then
    found[value[ID]] = value
    value[ID] = nil
  end
  for _, item in pairs(value) do collect(item, found) end
end

local incoming

local function special(value, found)
  if value[CODE] then return true, assert(loadstring(value[CODE], "=object"))() end
  if value[REF] then return true, found[value[REF]] end
  if value[POINTER] then
    return true, ffi.cast(value[POINTER], ffi.cast("void *", value[1]))
  end
  if value[BYTES] then
    local made = ffi.new(value[BYTES])
    ffi.copy(made, value[1], math.min(#value[1], ffi.sizeof(made)))
    return true, made
  end
end

function incoming(value, found, done)
  if type(value) ~= "table" or done[value] then return value end
  local is_special, meant = special(value, found)
  if is_special then return meant end
  done[value] = true
  local changes = {}
  for key, item in pairs(value) do
    if type(item) == "table" then changes[key] = incoming(item, found, done) end
  end
  for key, item in pairs(changes) do value[key] = item end
  return value
end

--- The values of which encode() made the string.
function serialize.decode(text)
  local list, found = buffer.decode(text), {}
  collect(list, found)
  list = incoming(list, found, {})
  return unpack(list, 1, list.n)
end

-- The family's objects ---------------------------------------------------------------

local classes = {}

--- Let objects with this metatable go to other tasks: as what pack(object) gives, plain
--- data of which unpack() makes the object there. `module` is who calls this as it is
--- loaded.
function serialize.class(module, name, metatable, pack, unpack_object)
  classes[name] = unpack_object
  metatable.__type = metatable.__type or name
  function metatable.__serialize(object)
    return ("require(%q) return require('moongen.tasks.serialize').object(%q, %q)")
      :format(module, name, serialize.encode(pack(object))), true
  end
end

--- For what __serialize gives.
function serialize.object(name, text)
  return classes[name](serialize.decode(text))
end

return serialize
