-- SPDX-License-Identifier: Apache-2.0
-- From the running configuration to a new one: what has to be done. Pure; all
-- that can be known to be wrong with the new one is found here, before
-- anything changes.

local config = require("core.config")
local failure = require("core.failure")
local lib = require("core.lib")

local plan = {}

local sorted_keys = config.sorted_keys

-- What the app would occupy that only one app can have ("packet:eth0"), or
-- nil. Raises a failure for a bad argument.
local function claim_of(name, app)
  if not app.class.check_arg then return nil end
  local ok, claim = pcall(app.class.check_arg, app.arg)
  if not ok then failure.within(("app '%s'"):format(name), claim) end
  return claim
end

local function check_links(new)
  for _, spec in ipairs(sorted_keys(new.links)) do
    local from, _, to = config.parse_link(spec)
    for _, name in ipairs{from, to} do
      if not new.apps[name] then
        failure.usage("link '%s': there is no app '%s'; the apps are: %s", spec,
          name, table.concat(sorted_keys(new.apps), ", "))
      end
    end
  end
end

local function check_apps(new)
  local owner, claims = {}, {}
  for _, name in ipairs(sorted_keys(new.apps)) do
    local claim = claim_of(name, new.apps[name])
    if claim and owner[claim] then
      failure.usage("apps '%s' and '%s' both use port %s: one app a port",
        owner[claim], name, claim)
    end
    if claim then owner[claim], claims[name] = name, claim end
  end
  return claims
end

--- Check `new` whole and compare it with `old` (both configurations). Returns
--- lists of names: start, stop, restart (another class, or another argument
--- without reconfig()), reconfig, new_links, old_links; and claims, a table
--- from app name to what it occupies. `started[name]` is the running app.
function plan.make(old, new, started)
  check_links(new)
  local result = {
    start = {}, stop = {}, restart = {}, reconfig = {},
    new_links = {}, old_links = {}, claims = check_apps(new),
  }
  local function add(list, name) list[#list + 1] = name end
  for _, name in ipairs(sorted_keys(new.apps)) do
    local before, after = old.apps[name], new.apps[name]
    if not before then
      add(result.start, name)
    elseif before.class ~= after.class then
      add(result.restart, name)
    elseif not lib.equal(before.arg, after.arg) then
      add(started[name].reconfig and result.reconfig or result.restart, name)
    end
  end
  for _, name in ipairs(sorted_keys(old.apps)) do
    if not new.apps[name] then add(result.stop, name) end
  end
  for _, spec in ipairs(sorted_keys(new.links)) do
    if not old.links[spec] then add(result.new_links, spec) end
  end
  for _, spec in ipairs(sorted_keys(old.links)) do
    if not new.links[spec] then add(result.old_links, spec) end
  end
  return result
end

return plan
