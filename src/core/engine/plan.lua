-- SPDX-License-Identifier: Apache-2.0
-- From the running configuration to a new one: what has to be done. Pure; all
-- that can be known to be wrong with the new one is found here, before
-- anything changes.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local config = require("core.config")
local contract = require("core.fuse.contract")
local difference = require("core.engine.difference")
local failure = require("core.failure")
local meanwhile = require("core.lib.meanwhile")
local on_error = require("core.on_error")
local renewal = require("core.move.renewal")

local plan = {}

local sorted_keys = config.sorted_keys

--- What the app {class =, arg =} would occupy that only one app can have
--- ("packet:eth0"), or nil; and what its new() needn't find out again. Raises a failure
--- for a bad argument, or if what it needs can't be had just now.
function plan.claim_of(name, app)
  if not app.class.check_arg then return nil end
  local ok, claim, found = pcall(app.class.check_arg, app.arg)
  if not ok then failure.within(("app '%s'"):format(name), claim) end
  return claim, found
end

-- The name a link of `app` has for its class: by class.link_names, {input =
-- {NAME = true}, output = ...}, where names that mean the same link have the
-- same value. A class without takes any name.
local function name_of_link(spec, name, app, direction, port)
  local allowed = app.class.link_names and app.class.link_names[direction]
  if not allowed then return port end
  if not allowed[port] then
    local names = table.concat(sorted_keys(allowed), ", ")
    failure.usage("link '%s': app '%s' has no %s '%s'; it has %s", spec, name,
      direction, port, names == "" and "none" or names)
  end
  return allowed[port] == true and port or allowed[port]
end

-- Each output takes one link; so does each input, but for per-packet apps, which see no
-- links.
local function check_ends(new, spec, taken)
  local from, output, to, input = config.parse_link(spec)
  for _, side in ipairs{{from, "output", output}, {to, "input", input}} do
    local name, direction, port = unpack(side)
    if direction == "output" then
      contract.check_output(spec, name, new.apps[name].class, port)
    end
    local class = new.apps[name].class
    port = name_of_link(spec, name, new.apps[name], direction, port)
    if direction == "input" then contract.check_input(spec, name, class, port) end
    local key = ("%s %s %s"):format(name, direction, port)
    if direction == "input" and contract.is_per_packet(class) then
      key = key .. " " .. spec
    end
    if taken[key] then
      failure.usage("links '%s' and '%s' share %s '%s' of app '%s': one link each",
        taken[key], spec, direction, port, name)
    end
    taken[key] = spec
  end
end

-- (Apps first: links are checked against the lists of their classes.)
local function check_links(new)
  for _, name in ipairs(sorted_keys(new.apps)) do
    meanwhile.step()
    contract.check(name, new.apps[name].class)
  end
  local taken = {}
  for _, spec in ipairs(sorted_keys(new.links)) do
    meanwhile.step()
    local from, _, to = config.parse_link(spec)
    for _, name in ipairs{from, to} do
      if not new.apps[name] then
        failure.usage("link '%s': there is no app '%s'; the apps are: %s", spec,
          name, table.concat(sorted_keys(new.apps), ", "))
      end
    end
    check_ends(new, spec, taken)
  end
  on_error.check_configuration(new, config)
end

--- Do two claims exclude each other? They are paths; "interface/eth0" claims
--- "interface/eth0/queue 1" too.
function plan.collide(a, b)
  return a == b or a:sub(1, #b + 1) == b .. "/" or b:sub(1, #a + 1) == a .. "/"
end

local function owner_of(claim, owners)
  for _, other in ipairs(sorted_keys(owners)) do
    if plan.collide(claim, other) then return owners[other] end
  end
end

-- `known` are claims of apps that run, in this Lua state or in another: {[NAME] =
-- {class =, arg =, claim =}}. Those that stay aren't asked again, but for those in
-- `forced`: they'd find taken what they hold, or that it couldn't be had now, as of an
-- interface that is down.
local function check_apps(new, known, forced)
  local owner, claims, found = {}, {}, {}
  for _, name in ipairs(sorted_keys(new.apps)) do
    meanwhile.step()
    local app, had = new.apps[name], known[name]
    local stays = had and not forced[name] and difference.same_app(had, app)
    local claim = stays and had.claim
    if not stays then claim, found[name] = plan.claim_of(name, app) end
    local other = claim and owner_of(claim, owner)
    if other then
      failure.usage("apps '%s' and '%s' both use %s: one app each", other, name,
        claim)
    end
    if claim then owner[claim], claims[name] = name, claim end
  end
  return claims, found
end

--- What is known of the apps of a configuration with these claims, by name.
function plan.known(configuration, claims)
  local result = {}
  for name, app in pairs(configuration.apps) do
    result[name] = {class = app.class, arg = app.arg, claim = claims[name]}
  end
  return result
end

--- Check a configuration whole; `known` (optional) are the apps that run. Raises a
--- failure; returns what is known of its apps then, to be given as `known` next time.
function plan.check(new, known)
  check_links(new)
  return plan.known(new, (check_apps(new, known or {}, {})))
end

--- Check `new` whole and compare it with `old` (both configurations): their difference
--- (core.engine.difference); and `claims` and `found`, tables from app name to what it
--- occupies, and to what was found out of its argument. `started[name]` is the running
--- app; `forced` as there, `known` as for plan.check.
function plan.make(old, new, started, forced, known)
  check_links(new)
  local claims, found = check_apps(new, known or {}, forced or {})
  local result = difference.of(old, new, function (name)
    return renewal.can(started[name], old.apps[name], new.apps[name])
  end, forced)
  result.claims, result.found = claims, found
  return result
end

local ACTIONS = {"stop", "start", "restart", "reconfig", "old_links", "new_links"}

--- The plan as text, a line for each action.
function plan.text(actions)
  local lines = {}
  for _, list in ipairs(ACTIONS) do
    for _, name in ipairs(actions[list]) do
      lines[#lines + 1] = ("engine: %s %s\n"):format(list:gsub("_", " "), name)
    end
  end
  return table.concat(lines)
end

return plan
