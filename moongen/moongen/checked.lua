-- SPDX-License-Identifier: Apache-2.0
-- For --check: C looks for buffers that are written to after they were sent or freed
-- (native/check.c). Here scripts' calls pass it their line, and raise what it found.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local mode = require("core.check.mode")
local own_code = require("moongen.own_code")

-- Each call asks for a traceback, which isn't compiled.
jit.off(true, true)

local checked = {}

local SIZE = 512
local text = ffi.new("char[?]", SIZE)

-- "script.lua:12", the innermost line of the script's.
local function place()
  for level = 3, math.huge do
    local info = debug.getinfo(level, "Sl")
    if not info then return "?" end
    local file = info.source:match("^@(.*)")
    if file and not own_code.is_own(file) then
      return ("%s:%d"):format(file, info.currentline)
    end
  end
end

--- What was found since it was asked last, a sentence, or nil.
function checked.found()
  local sentence = C.mg_check_found(text, SIZE)
  return sentence ~= nil and ffi.string(sentence) or nil
end

--- The same of all buffers of these pools, when all tasks have ended.
function checked.rest(pools)
  if not mode.on then return nil end
  for _, pool in ipairs(pools) do C.mg_check_rest(pool.pool) end
  return checked.found()
end

local function guard(f)
  return function (...)
    C.mg_check_at(place())
    local sentence = checked.found()
    if sentence then error(sentence, 0) end
    return f(...) -- a tail call: errors of f name the script's line
  end
end

--- With --check, let these methods of the table look after buffers.
function checked.guard(methods, names)
  if not mode.on then return end
  for name in names:gmatch("%S+") do methods[name] = guard(methods[name]) end
end

return checked
