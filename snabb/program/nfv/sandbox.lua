-- SPDX-License-Identifier: Apache-2.0
-- The value of a Lua file that is a configuration: run with few functions, no more than
-- so many instructions and so much memory, so that no file can harm or stop what runs.

local failure = require("core.failure")

local sandbox = {}

local MOST_INSTRUCTIONS = 2e6
local MOST_KB = 32 * 1024
local BYTECODE = 27 -- the first byte of compiled Lua

local NAME = "=nfv" -- of the file's code, as LuaJIT has it
local HERE = debug.getinfo(1, "S").source

-- What can take long, or much memory, by one call, and is no file's to use. Others may,
-- at the same time: observers of the compiler, finalizers.
local function kept_from_files(name)
  return function (...)
    local caller = debug.getinfo(2, "S")
    if caller and (caller.source == NAME or caller.source == HERE) then
      error(("string.%s can't be used here"):format(name), 2)
    end
    return string[name](...)
  end
end

local of_strings = setmetatable({}, {__index = string})
for _, name in ipairs{"rep", "find", "match", "gmatch", "gsub", "dump", "reverse"} do
  of_strings[name] = kept_from_files(name)
end

local function environment()
  return {
    ipairs = ipairs, pairs = pairs, tonumber = tonumber, tostring = tostring,
    string = {format = string.format, lower = string.lower, upper = string.upper,
      sub = string.sub, byte = string.byte, char = string.char},
    table = {insert = table.insert, concat = table.concat},
    math = {floor = math.floor, min = math.min, max = math.max},
  }
end

-- Called after each instruction. It raises one error, as none can be caught.
local function limits()
  local left, most = MOST_INSTRUCTIONS, collectgarbage("count") + MOST_KB
  return function ()
    left = left - 1
    if left < 0 then
      left = math.huge
      error("the file takes too long: has it an endless loop?", 2)
    elseif left % 16 == 0 and collectgarbage("count") > most then
      left = math.huge
      error("the file takes too much memory", 2)
    end
  end
end

-- Call chunk() with the limits.
local function confined(chunk)
  local strings = getmetatable("")
  local before = strings.__index
  setfenv(chunk, environment())
  jit.off(chunk, true) -- compiled code calls no hooks
  strings.__index = of_strings
  local ok, value = pcall(function ()
    debug.sethook(limits(), "", 1)
    local result = chunk()
    debug.sethook()
    return result
  end)
  debug.sethook()
  strings.__index = before
  return ok, value
end

-- What LuaJIT says, "nfv:LINE: PROBLEM", with the file's name.
local function raise(path, said)
  local line, problem = tostring(said):match("^nfv:(%d+): (.*)$")
  if line then failure.usage("%s:%s: %s", path, line, problem) end
  failure.usage("%s: %s", path, tostring(said))
end

--- The value that the Lua `text`, which the file at `path` has, returns. Raises a
--- failure with the file and the line.
function sandbox.value(path, text)
  if text:byte(1) == BYTECODE then
    failure.usage("%s: this is compiled Lua; only its text is read", path)
  end
  local chunk, problem = loadstring(text, NAME)
  if not chunk then raise(path, problem) end
  local ok, value = confined(chunk)
  if not ok then raise(path, value) end
  return value
end

return sandbox
