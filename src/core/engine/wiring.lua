-- SPDX-License-Identifier: Apache-2.0
-- Links in the tables `input` and `output` of the apps at their ends, by name
-- and in an array, and the apps' callbacks about them.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local config = require("core.config")
local failure = require("core.failure")
local link = require("core.link")

local wiring = {}

-- An input of a per-packet app may have several links: its name stands for one of them.
local function attach(app, direction, name, l)
  local links = app[direction]
  links[name] = l
  links[#links + 1] = l
end

local function detach(app, direction, name, l)
  local links = app[direction]
  for i = #links, 1, -1 do
    if links[i] == l then table.remove(links, i) end
  end
  if links[name] == l then links[name] = nil end
end

-- Call one of the app's methods; what it raises is added to `problems`.
local function tell(app, method, direction, name, problems)
  local call = app[method]
  if not call then return end
  local ok, err = xpcall(call, failure.explain, app, direction, name)
  if not ok then
    problems[#problems + 1] = ("app '%s': in %s(): %s"):format(app.appname, method,
      tostring(err))
  end
end

local function ends_of(spec)
  local from, output, to, input = config.parse_link(spec)
  return {{from, "output", output}, {to, "input", input}}
end

--- Join the link `spec` of `state.links` to the apps at its ends whose names
--- are in the set `names`, and call their link(direction, name).
function wiring.connect(state, spec, names, problems)
  for _, side in ipairs(ends_of(spec)) do
    local name, direction, port = unpack(side)
    if names[name] then
      attach(state.apps[name], direction, port, state.links[spec])
      tell(state.apps[name], "link", direction, port, problems)
    end
  end
end

--- The app `name` leaves, before others: take it off its links among the list `specs`,
--- and call its unlink(direction, name), or link(), for each.
function wiring.leave(state, name, specs, problems)
  local app = state.apps[name]
  for _, spec in ipairs(specs) do
    for _, side in ipairs(ends_of(spec)) do
      if side[1] == name then
        detach(app, side[2], side[3], state.links[spec])
        tell(app, app.unlink and "unlink" or "link", side[2], side[3], problems)
      end
    end
  end
end

--- Take the link away, and call unlink(direction, name) of the apps at its
--- ends, or link() of those without (Snabb does so), but for the apps in the
--- set `stopped`. Frees the link; the packets that were in it. Its counters stay for
--- now if there is a list for such links, state.later (link.free).
function wiring.remove(state, spec, stopped, problems)
  local sides = ends_of(spec)
  for _, side in ipairs(sides) do
    detach(state.apps[side[1]], side[2], side[3], state.links[spec])
  end
  for _, side in ipairs(sides) do
    local app = state.apps[side[1]]
    if not stopped[side[1]] then
      tell(app, app.unlink and "unlink" or "link", side[2], side[3], problems)
    end
  end
  state.lost = state.lost + link.free(state.links[spec], spec, state.later)
  state.links[spec] = nil
end

--- The texts of those of `links` that begin or end at apps of the set `names`, sorted.
function wiring.among(links, names)
  local list = {}
  for spec in pairs(next(names) and links or {}) do
    local from, _, to = config.parse_link(spec)
    if names[from] or names[to] then list[#list + 1] = spec end
  end
  table.sort(list)
  return list
end

--- Does the link `spec` begin or end at the app `name`?
function wiring.touches(spec, name)
  local from, _, to = config.parse_link(spec)
  return from == name or to == name
end

return wiring
