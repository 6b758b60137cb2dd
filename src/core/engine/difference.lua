-- SPDX-License-Identifier: Apache-2.0
-- What two configurations differ in: which apps and links come, go and change. Pure.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local config = require("core.config")
local lib = require("core.lib")
local meanwhile = require("core.lib.meanwhile")

local difference = {}

local sorted_keys = config.sorted_keys

--- Are two apps of configurations ({class =, arg =}) the same?
function difference.same_app(a, b)
  return a.class == b.class and lib.equal(a.arg, b.arg)
end

-- What becomes of an app: nil when it stays as it is.
local function change(before, after, can_reconfig, forced)
  if not before then return "start" end
  if before.class ~= after.class or forced == "restart" then return "restart" end
  if not forced and lib.equal(before.arg, after.arg) then return nil end
  return can_reconfig() and "reconfig" or "restart"
end

-- The keys of `a` that `b` hasn't, sorted.
local function missing(a, b)
  local list = {}
  for _, key in ipairs(sorted_keys(a)) do
    meanwhile.step()
    if not b[key] then list[#list + 1] = key end
  end
  return list
end

--- What turns the configuration `old` into `new`: sorted lists of names, start, stop,
--- restart (another class, or another argument without reconfig()), reconfig,
--- new_links and old_links; and `change`, {[NAME] = "start", "restart" or "reconfig"}.
--- can_reconfig(name) says whether the app has reconfig(), if not its class does; apps
--- named in `forced` are restarted or reconfigured ("restart", "reconfig") in any case.
function difference.of(old, new, can_reconfig, forced)
  local d = {
    start = {}, restart = {}, reconfig = {}, stop = missing(old.apps, new.apps),
    new_links = missing(new.links, old.links),
    old_links = missing(old.links, new.links), change = {},
  }
  for _, name in ipairs(sorted_keys(new.apps)) do
    meanwhile.step()
    local app = new.apps[name]
    local what = change(old.apps[name], app, function ()
      if can_reconfig then return can_reconfig(name) end
      return app.class.reconfig ~= nil
    end, forced and forced[name])
    if what then
      d.change[name] = what
      table.insert(d[what], name)
    end
  end
  return d
end

--- Is there no difference between two configurations?
function difference.none(old, new)
  for _, list in pairs(difference.of(old, new)) do
    if next(list) ~= nil then return false end
  end
  return true
end

return difference
