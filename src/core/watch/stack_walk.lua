-- SPDX-License-Identifier: Apache-2.0
-- Which app and fused region runs at a moment, and whether it is on the packet
-- path, found by walking the stack. For the JIT's watchers: too slow for more.

local place = {}

local breath, aside = false, {}

--- The packet path is what `on_path` calls, but for the functions in the set
--- `off_path`.
function place.set(on_path, off_path)
  breath, aside = on_path, off_path
end

local names = setmetatable({}, {__mode = "k"}) -- by function; false: several apps'

--- The function is a method of the app `name`. (Compiled code that is left on the way
--- keeps no variable that isn't needed further on, so the app may not be on the stack.)
function place.method(f, name)
  if names[f] == nil then names[f] = name end
  if names[f] ~= name then names[f] = false end
end

local function note(found, frame, first)
  if not found.app and type(first) == "table" then
    found.app = rawget(first, "appname")
  end
  found.app = found.app or names[frame.func] or nil
  if not found.file and frame.currentline > 0 then
    found.file, found.line = frame.source:gsub("^[@=]", ""), frame.currentline
  end
  found.region = found.region or frame.source:match("^=(region of .*)")
end

local function walk(getinfo, getlocal, callee)
  local found, is_aside = {packet_path = false}, false
  local inside = callee == nil
  for level = 0, math.huge do
    local frame = getinfo(level)
    if not frame then return found end
    if inside then
      note(found, frame, getlocal(level))
      is_aside = is_aside or aside[frame.func] == true
      if frame.func == breath then
        found.packet_path = not is_aside
        return found
      end
    end
    inside = inside or frame.func == callee
  end
end

--- What the present thread is in, outside of the function `callee` that asks: {app,
--- region, file, line, packet_path = boolean}; what there isn't is nil.
function place.here(callee)
  return walk(function (level)
    local frame = debug.getinfo(level + 1, "fSl") -- no tail call: levels count
    return frame
  end, function (level)
    local _, first = debug.getlocal(level + 1, 1)
    return first
  end, callee)
end

--- The same of another thread.
function place.of(thread)
  return walk(function (level)
    return debug.getinfo(thread, level, "fSl")
  end, function (level)
    local _, first = debug.getlocal(thread, level, 1)
    return first
  end)
end

return place
