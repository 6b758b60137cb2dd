-- SPDX-License-Identifier: Apache-2.0
-- Lua values as Lua text: what is written here can be loaded again and is equal.

local failure = require("core.lib.failure")
local files = require("core.lib.files")

local conf = {}

local INDENT = "  "
local keywords = {}
for word in ([[and break do else elseif end false for function goto if in local nil
  not or repeat return then true until while]]):gmatch("%a+") do
  keywords[word] = true
end

local function format_number(n)
  if n ~= n then return "0/0" end
  if n == math.huge then return "1/0" end
  if n == -math.huge then return "-1/0" end
  local short = ("%.14g"):format(n)
  return tonumber(short) == n and short or ("%.17g"):format(n)
end

local function format_scalar(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) == "number" then return format_number(value) end
  return tostring(value)
end

local function format_key(key)
  if type(key) == "string" and key:find("^[%a_][%w_]*$") and not keywords[key] then
    return key .. " = "
  end
  return "[" .. format_scalar(key) .. "] = "
end

local function is_before(a, b)
  if type(a) == "number" and type(b) == "number" then return a < b end
  return tostring(a) < tostring(b)
end

-- The keys of `t` other than 1..length, in order.
local function named_keys(t, length)
  local keys = {}
  for key in pairs(t) do
    local in_array = type(key) == "number" and key >= 1 and key <= length
      and key == math.floor(key)
    if not in_array then
      if type(key) == "table" then error("a table can't be a key in Lua text", 0) end
      keys[#keys + 1] = key
    end
  end
  table.sort(keys, is_before)
  return keys
end

local function write_value(write, value, indent, open)
  if type(value) ~= "table" then return write(format_scalar(value)) end
  if open[value] then error("a table that contains itself has no Lua text", 0) end
  open[value] = true
  local inner = indent .. INDENT
  write("{\n")
  local length = 0
  for i, element in ipairs(value) do
    length = i
    write(inner)
    write_value(write, element, inner, open)
    write(",\n")
  end
  for _, key in ipairs(named_keys(value, length)) do
    write(inner .. format_key(key))
    write_value(write, value[key], inner, open)
    write(",\n")
  end
  write(indent .. "}")
  open[value] = nil
end

local function object_text(value)
  local parts = {}
  write_value(function(s) parts[#parts + 1] = s end, value, "", {})
  return table.concat(parts)
end

--- Write `value` as Lua text and a newline to `stream` (stdout if not given).
function conf.print_object(value, stream)
  (stream or io.stdout):write(object_text(value), "\n")
end

--- Write `value`, made of tables, strings, numbers and booleans, to `file`, so that
--- load_conf reads it again. Raises a failure if it can't be written in full; a file
--- then keeps what it has (files.exchange).
function conf.store_conf(file, value)
  local text = "return " .. object_text(value) .. "\n"
  local chunk = loadstring(text)
  if not chunk then
    failure.raise("can't store %s: it holds a value that has no Lua text", file)
  end
  files.exchange(file, text, "store")
end

--- Run the Lua file and return its value.
function conf.load_conf(file)
  local chunk, err = loadfile(file)
  if not chunk then failure.usage("can't load a configuration: %s", err) end
  return chunk()
end

--- The value of the Lua expression `expression`.
function conf.load_string(expression)
  local chunk, err = loadstring("return " .. expression, "=expression")
  if not chunk then
    failure.usage("'%s' is not a Lua expression: %s", expression, err)
  end
  return chunk()
end

return require("core.lib.arguments").guard(conf, "lib", {
  load_conf = "string", load_string = "string", store_conf = "string, any",
})
