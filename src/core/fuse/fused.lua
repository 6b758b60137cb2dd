-- SPDX-License-Identifier: Apache-2.0
-- Per-packet apps (process(p), process_burst(packets, n, outputs)) in the
-- engine: the regions they are fused into, and what runs those that are not.
-- A region whose apps and links are as before is kept, with its compiled code.

local unfused = require("core.fuse.unfused")
local bulk = require("core.fuse.bulk")
local direct_links = require("core.fuse.direct_links")
local config = require("core.config")
local contract = require("core.fuse.contract")
local drift = require("core.fuse.recompile")
local drops = require("core.fuse.drops")
local meanwhile = require("core.lib.meanwhile")
local region = require("core.fuse.region")
local regions = require("core.fuse.partition")
local rescue = require("core.watch.rescue")
local running_app = require("core.watch.running_app")
local shm = require("core.shm")
local tables = require("core.lib.tables")

local fuse = {}

local NOT_WANTED = "fusing is off (--no-fuse, engine.fuse)" -- why, of all apps

local Fused = {}
Fused.__index = Fused

--- Nothing is fused.
function fuse.none()
  return setmetatable({
    regions = {}, run = {}, entry_of = {}, over = {}, pulled = {}, push = {},
    reasons = {}, region_of = {}, region_with = {}, direct = {}, once = {},
    flushes = {},
    problems = {}, fetched = {}, forward = {}, before = {},
  }, Fused)
end

--- Bring the counters of fused links up to date: the last regions first, as what
--- came into a region is worked out from what left it.
function Fused:account()
  for i = #self.regions, 1, -1 do self.regions[i]:account() end
end

--- Bring the counters of the link, which somebody asks for, up to date.
function Fused:settle(l)
  if not self.region_of[shm.pointer_to_number(l)] then return end
  for i = #self.regions, 1, -1 do
    local r = self.regions[i]
    if r:moved() then r:account() end
  end
end

--- For the handler of xpcall: `err`, with the app at work in front, its name, and a
--- list of the packets it was given, if they are known. The burst is put in order.
--- `first` and `thread` tell of the stack (core.watch.deep_stack).
function Fused:rescue(err, first, thread)
  local explained, name, packets = rescue.error(err, first, thread)
  direct_links.queue(self.direct)
  return explained, name, packets
end

--- Let the taps (lib.control.taps) see what passes the regions; nil: nobody any more.
function Fused:watch(taps)
  for _, r in ipairs(self.regions) do
    r:watch(taps)
    for i, spec in ipairs(r.description.entries) do self.run[spec] = r.run[i] end
    for i, emit in pairs(r.emit) do r.app[i].emit = emit end
  end
  unfused.tell_losses(taps and taps.lost)
  bulk.watch(taps ~= nil)
  direct_links.watch(taps ~= nil)
end

--- Settle which links are passed without their rings. `specs` are all in the order of
--- a breath's calls.
function Fused:hand_over(apps, links, specs)
  self.direct = direct_links.arrange(apps, links, self, specs)
end

-- The set of apps that some link leaves which no region or bulk app fetches from.
local function needed(fused, links)
  local set = {}
  for spec in pairs(links) do
    if not (fused.run[spec] or fused.fetched[spec]) then
      set[config.parse_link(spec)] = true
    end
  end
  return set
end

-- What lifted apps of the region do once in each breath, before its packets pass
-- (`before` of a view): {call =, app =, link = that to the app}.
local function calls_before(r)
  local list, into = {}, {}
  for spec, l in pairs(r.description.links) do
    local _, _, to = config.parse_link(spec)
    into[to] = l
  end
  for i, name in ipairs(r.description.apps) do
    local view = r.app[i]
    if view.before then
      list[#list + 1] = {call = view.before, app = view.lifted_from, link = into[name]}
    end
  end
  return list
end

--- The set of the names of apps of which something is called in each breath, whether
--- packets come or not.
function Fused:called_before()
  local set = {}
  for _, list in pairs(self.before) do
    for _, it in ipairs(list) do set[it.app.appname] = true end
  end
  return set
end

local function take_over(fused, r)
  local d = r.description
  local before = calls_before(r)
  for i, name in ipairs(d.apps) do
    fused.region_with[name] = r
    if r.process[i] then running_app.method(r.process[i], name) end
    if r.emit[i] then r.app[i].emit = r.emit[i] end
  end
  if r.flush_all and #d.entries == 0 then
    table.insert(fused.flushes, {appname = d.apps[1], pull = r.flush_all})
  end
  for spec in pairs(d.inner) do fused.over[spec] = true end
  for i, spec in ipairs(d.entries) do
    fused.run[spec], fused.before[spec] = r.run[i], before
    fused.entry_of[r.run[i]] = {region = r, number = i}
  end
  for _, spec in ipairs(d.exits) do
    local _, _, to = config.parse_link(spec)
    if r.direct[to] then fused.over[spec] = true end
  end
  for _, port in ipairs(r.once) do table.insert(fused.once, port) end
  for _, l in pairs(d.links) do fused.region_of[shm.pointer_to_number(l)] = r end
end

-- Ports from which regions and bulk apps receive whatever they receive need not be
-- pulled.
local function take_over_ports(fused, links)
  local others = needed(fused, links)
  for _, r in ipairs(fused.regions) do
    for _, ports in ipairs{r.direct, r.port} do
      for name in pairs(ports) do
        if not others[name] then fused.pulled[name] = true end
      end
    end
  end
  for spec in pairs(fused.fetched) do
    fused.pulled[config.parse_link(spec)] = true
  end
  for spec in pairs(fused.forward) do
    fused.pulled[config.parse_link(spec)] = true
  end
end

--- Is a region better made anew, by fuse.plan (core.fuse.recompile)?
function Fused:drifted(now, breaths)
  return drift.check(self.regions, now, breaths)
end
jit.off(Fused.drifted)

-- By link, the number of the input that it leads to.
local function input_numbers(apps, links)
  local numbers = {}
  for spec, l in pairs(links) do
    local _, _, to, input = config.parse_link(spec)
    numbers[l] = contract.number_of(apps[to], input)
  end
  return numbers
end

local function joins(app)
  return regions.pushes(app) or app.direct or not regions.reason(app)
end

local function any_pushes(apps)
  for _, app in pairs(apps) do
    if regions.pushes(app) then return true end
  end
  return false
end

-- The regions, why other apps are in none, and the apps as regions see them: those with
-- push() that can be lifted as per-packet apps. `lifting` names the module that does
-- it, or is false. It has
--
--   all(apps, links, may_be, joins)  the apps, with views in the place of those that
--                                    it lifts, and why it doesn't the others
--   unfit(regions, views)            which views mustn't be in these regions, and why
--
-- A view is a per-packet app with `lifted_from`, and maybe before(): called once in
-- each breath.
local function find(apps, links, lifting)
  if not (lifting and any_pushes(apps)) then
    local found, reasons = regions.find(apps, links)
    return found, reasons, apps
  end
  local lift = require(lifting)
  local views, why = lift.all(apps, links, regions.pushes, joins)
  while true do
    local found, reasons = regions.find(views, links)
    local odd = lift.unfit(found, views)
    if not next(odd) then
      local all = {}
      for name, reason in pairs(reasons) do
        all[name] = why[name] and ("%s; its push() isn't lifted: %s"):format(reason,
          why[name]) or reason
      end
      return found, all, views
    end
    for name, reason in pairs(odd) do views[name], why[name] = apps[name], reason end
  end
end

-- For the graph that there will be: regions by their first app, and what was found of
-- which apps and links.
local made, foreseen = {}, nil

local function same(a, b)
  for key, value in pairs(a) do
    if b[key] ~= value then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

-- As find(), which takes its time, and may have been called before.
local function find_again(apps, links, lifting)
  local f = foreseen
  if f and f.lifting == lifting and same(f.apps, apps) and same(f.links, links) then
    return f.found, f.reasons, f.views == f.of and apps or f.views
  end
  return find(apps, links, lifting)
end

local function any(names, set)
  for _, name in ipairs(names) do
    if set[name] then return true end
  end
  return false
end

--- Make those regions that fuse.plan is going to need for the `apps` and `links` that
--- there will be, as far as these are known: not those with apps of the set `unknown`.
function fuse.prepare(apps, links, unknown, wanted, old, lifting)
  fuse.forget()
  if not wanted then return end
  local before = {}
  for _, r in ipairs(old.regions) do before[r.description.apps[1]] = r end
  local found, reasons, views = find(apps, links, lifting)
  foreseen = {apps = tables.copy(apps), links = tables.copy(links),
    lifting = lifting, of = apps,
    found = found, reasons = reasons, views = views}
  for _, f in ipairs(found) do
    meanwhile.pause()
    local r = before[f.apps[1]]
    if not (any(f.apps, unknown) or r and r:fits(f, views, links)) then
      made[f.apps[1]] = region.new(f, views, links)
    end
  end
  meanwhile.pause()
end

--- Forget what fuse.prepare has made.
function fuse.forget() made, foreseen = {}, nil end

-- The region of what was found: one that has been made before, or a new one.
local function region_for(f, apps, links, problems)
  local r = made[f.apps[1]]
  local fits = r and r:fits(f, apps, links)
  unfused.drain(f, apps, links, rescue.alone, problems)
  if not fits then return region.new(f, apps, links) end
  made[f.apps[1]] = nil
  r:begin()
  return r
end

--- Plan how the running `apps` and `links` are fused; `old` is the plan before.
--- With `wanted` false nothing is, and each per-packet app runs by itself; with
--- `lifting`, the name of a module, those with push() are fused, too, where it says so.
--- `problems` is a list of what apps raised as packets were moved out of links that are
--- fused now.
function fuse.plan(apps, links, wanted, old, lifting)
  local fused = fuse.none()
  local found, reasons, views = {}, {}, apps
  if wanted then
    found, reasons, views = find_again(apps, links, lifting)
  else
    for name in pairs(apps) do reasons[name] = NOT_WANTED end
  end
  fused.reasons, fused.wanted = reasons, wanted
  local before = {}
  for _, r in ipairs(old.regions) do
    before[r.description.apps[1]] = r
    if r.flush_all then r.flush_all() end
  end
  for _, f in ipairs(found) do
    local r = before[f.apps[1]]
    if not (r and not r.stale and r:fits(f, views, links)) then
      r = region_for(f, views, links, fused.problems)
    end
    fused.regions[#fused.regions + 1] = r
    take_over(fused, r)
  end
  local ports
  ports, fused.fetched = direct_links.of_bulk(apps, links, wanted)
  for spec in pairs(fused.fetched) do
    table.insert(fused.once, ports[links[spec]])
  end
  fused.forward = direct_links.forward(apps, links, wanted)
  take_over_ports(fused, links)
  local numbers = input_numbers(apps, links)
  for name, app in pairs(apps) do
    if not app.push and not (wanted and not reasons[name]) then
      fused.push[name] = unfused.push_of(app, numbers, ports)
      if app.emits then app.emit = unfused.emit_of(app) end
    end
  end
  drops.keep(apps)
  return fused
end

return fuse
