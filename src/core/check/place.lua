-- SPDX-License-Identifier: Apache-2.0
-- For --check: who does something with a packet, and at which line.

local place = {}

-- Whose lines are not those to name: what does for others what they ask for.
local BETWEEN = {"core/packet%.lua$", "core/link%.lua$", "core/check/[%w_]+%.lua$",
                 "lib/stack/", "^=%[C%]$", "^=stack$"}

local between = {} -- by source: is it one of these?

local function is_between(source)
  if between[source] == nil then
    between[source] = false
    for _, pattern in ipairs(BETWEEN) do
      between[source] = between[source] or source:find(pattern) ~= nil
    end
  end
  return between[source]
end

local texts = {} -- by source and line, as there are few

local function text_of(source, line)
  local lines = texts[source]
  if not lines then
    lines = {}
    texts[source] = lines
  end
  local text = lines[line]
  if not text then
    text = ("%s:%d"):format(source:gsub("^[@=]", ""), line)
    lines[line] = text
  end
  return text
end

--- The line at work, "nat.lua:12", of the first function on the stack that isn't here,
--- in core.packet, core.link or lib.stack.
function place.here()
  for level = 2, math.huge do
    local info = debug.getinfo(level, "Sl")
    if not info then return "?" end
    local engine = place.app and info.source:find("core/fuse/", 1, true)
    if not engine and not is_between(info.source) then
      return text_of(info.source, info.currentline)
    end
  end
end

--- The line where the function `f` begins.
function place.of(f)
  local info = debug.getinfo(f, "S")
  return text_of(info.source, info.linedefined)
end

--- The name of the app at work, while one is (core.check.apps).
place.app = nil

--- "app 'nat'", or who else does something at that line: the engine, or the program.
function place.actor(at)
  if place.app then return ("app '%s'"):format(place.app) end
  return at:find("src/core/", 1, true) and "the engine" or "the program"
end

jit.off(true, true)

return place
