-- SPDX-License-Identifier: Apache-2.0
-- Groups what core.watch.health has noted by the line that is to blame: a
-- function that LuaJIT has given up on makes it give up on its callers too. Pure.

local jit_causes = {}

local function at(event)
  return ("%s:%d"):format(event.file, event.line)
end

-- Follow an event back to where it began: from what was given up or left to the
-- interpreter to the abort that did it, from an abort at code given up to why that was.
local function root_of(event, given_up)
  local seen = {}
  while not seen[event] do
    seen[event] = true
    if event.kind == "blacklisted" or event.kind == "interpreter" then
      event = event.cause or event
    elseif event.kind == "abort" and event.reason == "blacklisted" then
      event = given_up[at(event)] or event
    end
  end
  return event
end

--- Add `item` to the list, unless it is there.
function jit_causes.add_once(list, item)
  for _, present in ipairs(list) do
    if present == item then return end
  end
  list[#list + 1] = item
end

local add_once = jit_causes.add_once

--- The causes of `events` in their order: a list of {file, line, kind and reason of
--- the first event; count; apps = names; region or nil; callers = places ("FILE:LINE")
--- in the user's own files that it was called from; given_up = places of the loops and
--- functions that LuaJIT doesn't compile any more}.
function jit_causes.of(events)
  local given_up, causes, by_key = {}, {}, {}
  for _, event in ipairs(events) do
    if event.kind == "blacklisted" then given_up[at(event)] = event end
  end
  for _, event in ipairs(events) do
    local root = root_of(event, given_up)
    local key = at(root) .. root.reason
    local cause = by_key[key]
    if not cause then
      cause = {file = root.file, line = root.line, kind = root.kind,
               reason = root.reason, region = root.region, count = 0,
               apps = {root.app}, callers = {}, given_up = {}, counted = {}}
      by_key[key], causes[#causes + 1] = cause, cause
    end
    for _, e in ipairs{root, event} do
      if not cause.counted[e] and at(e) .. e.reason == key then
        cause.counted[e], cause.count = true, cause.count + e.count
      end
      if e.app then add_once(cause.apps, e.app) end
      if e.caller then add_once(cause.callers, e.caller) end
    end
    if event.kind == "blacklisted" then add_once(cause.given_up, at(event)) end
  end
  for _, cause in ipairs(causes) do cause.counted = nil end
  return causes
end

return jit_causes
