-- SPDX-License-Identifier: Apache-2.0
-- What goes with an app that moves to another CPU, from one Lua state to another, as a
-- configuration is applied in each: what it has dropped, what it holds of the machine,
-- and, if its class can hand that over, its state; and what links have counted.
--
-- A class of which an app can move without being stopped has, not inherited,
--
--   app:hand_over()             its state, as plain data; the app is used no more
--   class:take_over(arg, data)  the app, instead of new(); begin() isn't called

local transfer = {}

local leave, come, counts, claims = {}, {}, {}, {}
local given, taken = {}, {}

--- Call f(...), which applies a configuration. The apps of m.leave, {[NAME] = "whole",
--- or true if it is stopped}, leave this Lua state. Those of m.come arrive, with what
--- they were given elsewhere. New links count on from m.counts, {[SPEC] = totals}
--- (core.link). What the apps that left are given is in m.given, by name, when it
--- returns, or raises what f raised; then that of those that didn't arrive is, too.
function transfer.during(m, f, ...)
  leave, come, counts = m.leave or {}, m.come or {}, m.counts or {}
  given, taken = {}, {}
  local ok, err = pcall(f, ...)
  for name, data in pairs(not ok and come or {}) do
    if not taken[name] then given[name] = data end
  end
  m.given = given
  leave, come, counts, claims, given, taken = {}, {}, {}, {}, {}, {}
  if not ok then error(err, 0) end
end

--- What the running apps hold of the machine, by name.
function transfer.note_claims(held) claims = held end

--- Add the apps of the configuration `new` that arrive to those `known` (plan.check).
function transfer.add_known(known, new)
  for name, data in pairs(come) do
    local app = data.app and new.apps[name]
    if app then known[name] = {class = app.class, arg = app.arg, claim = data.claim} end
  end
  return known
end

--- What the app `name` that starts was given elsewhere, or nil.
function transfer.take(name)
  taken[name] = come[name]
  return come[name]
end

--- Does the running app `name` leave, or has it arrived in vain?
function transfer.leaves(name) return leave[name] ~= nil or taken[name] ~= nil end

--- Let it go, with `drops` (core.fuse.drops). False if it has to be stopped.
function transfer.give(name, app, drops)
  local back = taken[name]
  local whole = leave[name] == "whole" or back and back.app
  local handed = whole and app.hand_over and app:hand_over() or nil
  given[name] = {app = handed, drops = drops,
                 claim = back and back.claim or claims[name]}
  return handed ~= nil
end

--- What the link has counted before, or nil.
function transfer.counts_of(spec) return counts[spec] end

return transfer
