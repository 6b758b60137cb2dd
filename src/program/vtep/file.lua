-- SPDX-License-Identifier: Apache-2.0
-- The configuration file of `perigee vtep`: JSON, YAML, or Lua text that returns a
-- table. The latter runs with nothing to call, and not for ever. All have the same
-- names and kinds of values (shape.check); whatever is wrong with one is a sentence.

local document = require("lib.document.document")
local errno = require("posix.errno")
local failure = require("core.failure")
local fcntl = require("posix.fcntl")
local unistd = require("posix.unistd")
local shape = require("apps.vtep.shape")

local M = {}

local MOST_BYTES = 16 * 1024 * 1024
local CHUNK = 65536
local MOST_INSTRUCTIONS = 1e7
local MOST_NAME = 1000 -- bytes of a port's
local BYTECODE = "\27" -- the first byte of what string.dump writes

-- One line, for a sentence.
local function line(text)
  return (tostring(text):gsub("[%c\127-\255]", "?"))
end

-- What the call returns once no signal comes in between.
local function calmly(call, ...)
  local result, problem, number
  repeat
    result, problem, number = call(...)
  until result or number ~= errno.EINTR
  return result, problem
end

-- Up to `most` bytes of the file; or nil and why there are none.
local function read(path, most)
  local fd, problem = calmly(fcntl.open, path, fcntl.O_RDONLY)
  if not fd then return nil, problem end
  local parts, size, part = {}, 0
  repeat
    part, problem = calmly(unistd.read, fd, math.min(most - size, CHUNK))
    if part then parts[#parts + 1], size = part, size + #part end
  until not part or part == "" or size == most
  unistd.close(fd)
  if not part then return nil, ("%s: %s"):format(path, problem) end
  return table.concat(parts)
end

local function text_of(path)
  local text, problem = read(path, MOST_BYTES + 1)
  if not text then
    failure.usage("the configuration can't be read: %s", problem)
  elseif #text > MOST_BYTES then
    failure.usage("the configuration can't be read: %s has more than %d MB", path,
      MOST_BYTES / 2^20)
  end
  return text
end

local function chunk_of(path)
  local text = text_of(path):gsub("^#[^\n]*", "")
  if text:find("^%s*" .. BYTECODE) then
    failure.usage("the configuration can't be read: %s is bytecode; give the Lua text "
      .. "that it was made from", path)
  end
  local chunk, problem = loadstring(text, "@" .. path)
  if not chunk then
    failure.usage("the configuration can't be read: %s", line(problem))
  end
  return chunk
end

-- Interpreted: compiled code calls no hooks.
local function run(chunk)
  jit.off(chunk, true)
  debug.sethook(function () error("it doesn't come to an end", 0) end, "",
    MOST_INSTRUCTIONS)
  local ok, result = pcall(setfenv(chunk, {}))
  debug.sethook()
  return ok, result
end

local function port(value, name)
  if type(value) == "number" then return end
  shape.kinds.text(value, name)
  if #value > MOST_NAME then
    failure.usage("%s is no port: its name has %d bytes", name, #value)
  end
end

local function seconds(value, name)
  shape.kinds.number(value, name)
  if value ~= value or value < 0 or value == math.huge then
    failure.usage("%s is a number of seconds, not %s", name, shape.shown(value))
  end
end

--- Names that the file has besides those of apps.vtep's argument.
M.OWN = {inner = port, outer = port, report = seconds, duration = seconds}

--- Call func(...); a failure of it gets `where` (text or nil) in front.
function M.within(where, func, ...)
  local ok, err = pcall(func, ...)
  if ok then return end
  if where and failure.is(err) then failure.within(where, err) end
  error(err, 0)
end

-- The number of the line where the text gives a value to the name, or nil.
local function line_of(text, name)
  local at = text:find("%f[%w_]" .. name .. "[\"']?%s*[=:][^=]")
  return at and select(2, text:sub(1, at):gsub("\n", "")) + 1
end

-- Where in the file it is that the sentence speaks of: the path, with the line of the
-- field that isn't known, if it can be found.
local function place_of(path, sentence)
  local name = sentence:match("has no field '([%a_][%w_]*)'")
  local number = name and line_of(text_of(path), name)
  return number and ("%s:%d"):format(path, number) or path
end

-- The Lua value of a document's node, which has no nulls.
local function value_of(path, node)
  local result = {}
  if node.map then
    for key, child in pairs(node.map) do result[key] = value_of(path, child) end
  elseif node.list then
    for i, child in ipairs(node.list) do result[i] = value_of(path, child) end
  elseif node.value == nil then
    document.refuse(path, node.line, "null is no value; leave the field out")
  else
    return node.value
  end
  return result
end

-- The table of a JSON or YAML document. Keys of JSON are strings, VNIs numbers.
local function of_document(path)
  local result = value_of(path, document.parse(path, text_of(path)))
  if type(result) == "table" and type(result.vnis) == "table" then
    local vnis = {}
    for key, vlan in pairs(result.vnis) do
      vnis[tostring(key):find("^%d+$") and tonumber(key) or key] = vlan
    end
    result.vnis = vnis
  end
  return result
end

-- What the Lua text at `path` returns.
local function of_lua(path)
  local ok, result = run(chunk_of(path))
  if not ok then
    local text = line(result)
    failure.usage("the configuration%s: %s", text:find(path, 1, true) and ""
      or " " .. path, text)
  end
  if type(result) == "table" then return result end
  failure.usage("the configuration %s doesn't return a table: write 'return {...}'",
    path)
end

--- The table that the file at `path` has: JSON or YAML if its name ends so (.json,
--- .yaml, .yml), else Lua. Its names and kinds of values are right.
function M.load(path)
  local result = (document.is_one(path) and of_document or of_lua)(path)
  local right, err = pcall(shape.check, result, M.OWN)
  if not right then M.within(place_of(path, tostring(err)), error, err, 0) end
  return result
end

return M
