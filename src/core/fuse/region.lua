-- SPDX-License-Identifier: Apache-2.0
-- A fused region at run time: binds the generated source to its apps, links and ports.
-- Counting is core.fuse.region_counters'.

local ffi = require("ffi")
local C = require("core.native")
local bursts = require("core.fuse.bursts")
local config = require("core.config")
local description = require("core.fuse.description")
local direct_links = require("core.fuse.direct_links")
local drops = require("core.fuse.drops")
local look_ahead = require("core.fuse.look_ahead")
local meanwhile = require("core.lib.meanwhile")
local pool = require("core.pool")
local badly_compiled = require("core.fuse.badly_compiled")
local running_app = require("core.watch.running_app")
local packet_paths = require("core.fuse.packet_paths")
local source = require("core.fuse.source")
local Tally = require("core.fuse.region_counters")
local watched = require("core.fuse.watched")

local port_of = direct_links.port_of

local region = {}

local Region = {}
Region.__index = Region

local BURST = C.PORT_BURST
-- Room for what is put into an exit's array: for more than a burst, so that one which
-- goes all one way doesn't fill it, and its end isn't a special case.
local PUTS = 2 * BURST
local array_t = ffi.typeof("struct packet *[?]")
local array_p = ffi.typeof("struct packet **")
local int32s_t, int32_p = ffi.typeof("int32_t[?]"), ffi.typeof("int32_t *")

-- Where packets come from and go to ------------------------------------------

-- Pointers, not structs: see core.fuse.bulk. Variables that are never set again: LuaJIT
-- takes those of a closure as constants, and looks at others each time.
local link_p, port_p = ffi.typeof("struct link *"), ffi.typeof("struct port *")
local account = ffi.cast("struct freelist *", pool.freelist)

-- With `sums`, the bytes are added up: they don't follow from what leaves. From a port
-- up to `most` packets.
local function fetch_from(l, port, sums, most)
  local entry, device_p = ffi.cast(link_p, l), port and ffi.cast(port_p, port)
  local fetch = sums and C.pg_fetch_counted or C.pg_fetch
  local accept = sums and C.pg_accept_counted or C.pg_accept
  if port then
    return function (to) return fetch(device_p, entry, to, most) end
  end
  return function (to) return accept(account, entry, to) end
end

-- The same for a region whose packets leave by the links `exits`: what one of them was
-- handed in the same breath is still in the region's arrays.
local function fetch_after(exits, fetch)
  if #exits == 0 then return fetch end
  local only = #exits == 1 and ffi.cast(link_p, exits[1])
  if only then
    return function (to)
      if only.nhanded > 0 then C.pg_queue_handed(account, only) end
      return fetch(to)
    end
  end
  return function (to)
    for i = 1, #exits do
      local l = exits[i]
      if l.nhanded > 0 then C.pg_queue_handed(account, l) end
    end
    return fetch(to)
  end
end

local function flush_to(l, port)
  local exit, device_p = ffi.cast(link_p, l), port and ffi.cast(port_p, port)
  local send, hand = C.pg_send, C.pg_hand
  if port then
    return function (from, n) send(device_p, exit, from, n) end
  end
  return function (from, n, bytes) hand(account, exit, from, n, bytes or -1) end
end

--- Bring the counters of the fused links, and the drops of their apps, up to date.
--- Regions that lead to others want those to be up to date before.
function Region:account()
  if self.flush_all then self.flush_all() end -- what timers have emitted
  self.tally:account()
end

--- Has anything come in since?
function Region:moved()
  return self.tally:moved()
end

--- Packets the app `name` has dropped: a table from reason to number.
function Region:drops(name)
  self:account()
  local app = self.description.app_of[name]
  return drops.of(app.lifted_from or app)
end

--- Let the taps (lib.control.taps) see what passes the region, or nobody, if they are
--- nil: its `run` and `emit` change. Its own code is kept, and runs what no tap wants
--- to see within.
function Region:watch(taps)
  self.run, self.emit = self.unwatched.run, self.unwatched.emit
  self.watched = taps and watched.copy(self, taps)
  if not self.watched then return end
  self.run, self.emit = {}, self.watched.emit
  for i in ipairs(self.unwatched.run) do
    self.run[i] = self.whole[i](watched.step(self, i, taps))
  end
end

-- Errors --------------------------------------------------------------------------

--- Put the burst in order after an error in process(). `at` lists the apps that were at
--- work, {number =, packet = the one at hand, before = the bytes with which it came to
--- the app, unless that says what it lengthens them by}: that packet remains the app's.
--- It was in the loop of entry `e`, if any, whose local variables are `state`: what is
--- done leaves, what hasn't begun goes back into the link.
function Region:recover(at, e, state)
  local d = self.description
  for _, app in ipairs(at) do
    local known = d.lengthens[app.number] -- then nobody noted the length before
    self.tally:raised(app.number, known and app.packet.length or app.before)
  end
  self.depth[0] = 0
  if not e then return end
  local l, back = self.entry[e], state.n - 1 - state.i
  l.read = l.read - back
  for i = 0, back - 1 do
    local slot = tonumber(bit.band(l.read + i, C.LINK_RING_SIZE - 1))
    local p = self.packets[state.i + 1 + i]
    l.packets[slot] = p
    if d.sums then l.rxbytes = l.rxbytes - p.length end
  end
  if self.flush_all then return self.flush_all() end
  for x in ipairs(d.exits) do
    local n = self.wide[e] and self.fill[x] or state["n" .. x]
    if n and n > 0 then self.flush[x](self.out[x], n) end
  end
end

-- Making one --------------------------------------------------------------------

-- Exits whose arrays are filled from the midst of process(): what flushes one that is
-- full, and all of them.
local function bind_puts(self)
  self.fill_p = ffi.cast(int32_p, self.fill)
  local fill, n = self.fill_p, #self.description.exits
  for x = 1, n do
    local flush = self.flush[x]
    local to = self.out_p[x]
    self.full[x] = function ()
      local count = fill[x]
      fill[x] = 0
      flush(to, count)
    end
  end
  local full = self.full
  self.flush_all = function ()
    for x = 1, n do
      if fill[x] > 0 then full[x]() end
    end
  end
end

--- It runs from now on: what its links counted before is no concern of it.
function Region:begin() self.tally:begin() end

local function same(list, other)
  if #list ~= #other then return false end
  for i = 1, #list do
    if list[i] ~= other[i] then return false end
  end
  return true
end

-- The region's links with what is at their ends.
local function ends_of(links)
  local list = {}
  for spec, l in pairs(links) do
    local from, _, to = config.parse_link(spec)
    list[#list + 1] = {spec = spec, link = l, from = from, to = to}
  end
  return list
end

-- Of a graph of 1,000 apps all regions are asked, in each change.
local function same_links(self, found, apps, links)
  local inner, port, direct = self.description.inner, self.port, self.direct
  for i = 1, #self.ends do
    local e = self.ends[i]
    local spec = e.spec
    if links[spec] ~= e.link then return false end
    if inner[spec] then
      if not found.inner[spec] then return false end
    elseif found.inner[spec] or port[e.from] ~= port_of(apps[e.from], "pull")
        or direct[e.to] ~= port_of(apps[e.to], "push") then
      return false
    end
  end
  return true
end

local function same_app(self, i, app, found)
  local d = self.description
  return d.app_of[d.apps[i]] == app and self.process[i] == (app.process or false)
    and self.inputs[i] == app.inputs and self.outputs[i] == app.outputs
    and self.reasons[i] == app.drops and d.lengthens[i] == (app.lengthens or false)
    and d.bound[i] == (app.bound or false)
    and d.ahead[d.apps[i]] == found.ahead[d.apps[i]]
end

--- Is the region made of exactly what regions.find has `found`, joined to the same
--- ports? Then its code does for that.
function Region:fits(found, apps, links)
  local d = self.description
  if d.looped ~= found.looped or d.puts ~= found.puts then return false end
  if not (same(d.apps, found.apps) and same(d.entries, found.entries)
          and same(d.exits, found.exits)) then
    return false
  end
  for spec in pairs(found.inner) do
    if not d.inner[spec] or d.closing[spec] ~= found.closing[spec] then return false end
  end
  for x, spec in ipairs(d.exits) do
    local _, _, to = config.parse_link(spec)
    if d.weighed[x] ~= description.weighed(apps[to]) then return false end
  end
  for i = 1, #d.apps do
    if not same_app(self, i, apps[d.apps[i]], found) then return false end
  end
  return same_links(self, found, apps, links)
end

--- Build the region `found` (regions.find) of the running apps and links. Its
--- run[i]() moves what is there from entries[i], but of the ports in the list `once`
--- only a burst. `text` is its source.
function region.new(found, apps, links)
  local r = description.of(found, apps, links)
  r.room = PUTS
  meanwhile.pause() -- each of these takes a while
  local tally, text, app_at = Tally.new(r), source.generate(r)
  meanwhile.pause()
  local self = setmetatable({
    description = r, tally = tally, text = text, direct = {}, port = {},
    process = {}, inputs = {}, outputs = {}, reasons = {}, app = {}, fetch = {},
    entry = {}, out = {}, flush = {}, run = {}, pass = {}, loop = {}, wide = {},
    step = {},
    in_row = {}, -- by entry: where else its loop is (core.fuse.row)
    segment = {}, emit = {}, whole = {}, full = {}, out_p = {}, once = {},
    most = {}, -- packets that an entry takes at once
    full_burst = {}, more = {}, -- what such a port may have more after: for run
    ends = ends_of(r.links), packets = array_t(BURST),
    fill = int32s_t(#r.exits + 1), depth = int32s_t(1), next = int32s_t(1),
  }, Region)
  self.packets_p = ffi.cast(array_p, self.packets)
  self.next_p = ffi.cast(int32_p, self.next)
  self.count, self.drop, self.lose, self.grow = tally:functions()
  for i, name in ipairs(r.apps) do
    local app = apps[name]
    self.process[i], self.app[i] = app.process or false, app
    self.inputs[i], self.outputs[i] = app.inputs, app.outputs
    self.reasons[i] = app.drops
  end
  local to_links = {}
  for x, spec in ipairs(r.exits) do
    local _, _, to = config.parse_link(spec)
    local port = port_of(apps[to], "push")
    self.direct[to] = port
    -- One exit's packets stay in the array they came in: no slot is written before
    -- it is read.
    self.out[x] = r.puts and array_t(PUTS) or x == 1 and self.packets or array_t(BURST)
    self.out_p[x] = ffi.cast(array_p, self.out[x])
    self.flush[x] = flush_to(links[spec], port)
    if not port then to_links[#to_links + 1] = links[spec] end
  end
  if r.puts then bind_puts(self) end
  for i, spec in ipairs(r.entries) do
    local from, _, to = config.parse_link(spec)
    local l, port = links[spec], port_of(apps[from], "pull")
    self.port[from] = port
    self.most[i] = port and #to_links == 0
      and bursts.at_once(port, apps[to], self.direct) or BURST
    local fetch = fetch_after(to_links, fetch_from(l, port, r.sums, self.most[i]))
    if r.ahead[to] then fetch = look_ahead.fetch(to, apps[to], fetch) end
    self.fetch[i], self.entry[i] = fetch, l
    local function step()
      local n = fetch(self.packets_p)
      self.pass[i](n)
      return n
    end
    if not port then
      self.full_burst[i], self.more[i] = BURST, bursts.rest_of(l, step)
    elseif #to_links == 0 then -- no link need hold what leaves
      self.full_burst[i] = self.most[i]
      self.more[i] = bursts.rest(step, self.most[i])
    end
  end
  self.code = {region = self, name = "region of " .. r.apps[1], apps = r.apps,
               app_at = app_at, segments = self.segment, loops = self.loop,
               emits = self.emit, run = {}}
  assert(loadstring(text, "=" .. self.code.name))(self)
  for i, run in ipairs(self.run) do
    self.code.run[i], self.code.run[#r.entries + i] = run, self.pass[i]
  end
  running_app.region(self.code)
  packet_paths.follow(self)
  badly_compiled.follow(self)
  for i, spec in ipairs(r.entries) do
    local port = self.port[(config.parse_link(spec))]
    if not port then
      self.whole[i] = function (step) return bursts.all_of(links[spec], step) end
    elseif self.more[i] then
      self.whole[i] = function (step) return bursts.while_full(step, self.most[i]) end
    else
      self.whole[i] = function (step) return step end
      self.once[#self.once + 1] = port
    end
  end
  self.unwatched = {run = self.run, emit = self.emit}
  return self
end

return region
