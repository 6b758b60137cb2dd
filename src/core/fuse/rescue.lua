-- SPDX-License-Identifier: Apache-2.0
-- After an error in an app's process(): which app it was, and what becomes of the
-- burst that the region was at. Looks at the stack, so that the packet path needs
-- no protection. To be called by the handler of xpcall.

local failure = require("core.failure")
local alone = require("core.fuse.alone")
local bulk = require("core.fuse.bulk")

local rescue = {}

-- The local variables of the function at `level` (as this function's caller counts).
local function variables(level, thread)
  local t = {}
  for i = 1, 250 do
    local name, value
    if thread then
      name, value = debug.getlocal(thread, level, i)
    else
      name, value = debug.getlocal(level + 1, i)
    end
    if not name then return t end
    t[name] = value
  end
  return t
end

-- Generated functions: from function to its region, and to the entry's number.
local function generated(regions)
  local segments, loops, entries = {}, {}, {}
  for _, r in ipairs(regions) do
    for _, f in pairs(r.segment) do segments[f] = r end
    for i, f in ipairs(r.loop) do loops[f], entries[f] = r, i end
  end
  return segments, loops, entries
end

-- The name of the app at work and its method; nothing if it isn't a per-packet app.
local function recover(regions, first, thread)
  local segments, loops, entries = generated(regions)
  local region, k, before
  for level = first or 2, math.huge do
    local info = thread and debug.getinfo(thread, level, "fl")
      or not thread and debug.getinfo(level, "fl")
    if not info then return nil end
    local f = info.func
    if f == alone.caller then return variables(level, thread).app.appname, "process" end
    if bulk.callers[f] then return bulk.callers[f].app.appname, "process_burst" end
    if segments[f] and not region then
      region, k, before = segments[f], segments[f]:app_at(info.currentline),
        variables(level, thread).before
    elseif region and loops[f] == region then
      region:recover(k, before, entries[f], variables(level, thread))
      return region.description.apps[k], "process"
    end
  end
end

--- The error `err`, with the app in front if it was raised by one of the fused
--- `regions` or a per-packet app alone, and that app's name; a region's burst has been
--- put in order. Looks at the stack from `first` on, of `thread`
--- (core.watch.deep_stack).
function rescue.error(regions, err, first, thread)
  local ok, name, method = pcall(recover, regions, first, thread)
  if not ok or not name then return err end
  return failure.in_app(name, method, err), name
end

--- The same, with a traceback, where no region runs.
function rescue.alone(err)
  return failure.explain((rescue.error({}, err)))
end

jit.off(true, true) -- see core.watch.deep_stack

return rescue
