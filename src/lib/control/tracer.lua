-- SPDX-License-Identifier: Apache-2.0
-- A tap (lib.control.taps) that follows single packets through this engine's graph.
-- Where they begin, a filter chooses some; from then on each is known by its address,
-- until it has been sent, dropped or freed, or nothing has been seen of it for a
-- second.

local ffi = require("ffi")
local C = require("core.native")
local config = require("core.config")
local filter = require("lib.filter")
local graph = require("core.engine.graph")
local pool = require("core.pool")

local tracer = {}

local match = C.pg_filter -- found now: LuaJIT can't compile a loop that looks for it

local MOST_BYTES = 2048     -- of a packet that are told
local MOST_HOPS = 1000      -- of a packet: it may go round a loop
local AT_ONCE = 16          -- packets that are followed
local PATIENCE_SECONDS = 1  -- after which an app is said to keep a packet

local Tracer = {}
Tracer.__index = Tracer

local function address(p) return tonumber(ffi.cast("uintptr_t", p)) end

-- Do packets come into the graph by the app? `fed` are those that links lead to.
local function is_source(app, fed)
  return (app.pull or not fed[app]) and not app.relays
end

-- The links at which packets are chosen, and the app that each comes from: those that
-- lead to the app of this name or, if none does, leave it; without a name, those by
-- which packets come into the graph.
local function beginnings(name)
  local into, out_of, fed = {}, {}, {}
  for spec in pairs(graph.links) do
    local _, _, to = config.parse_link(spec)
    fed[graph.apps[to]] = true
  end
  for spec in pairs(graph.links) do
    local from, _, to = config.parse_link(spec)
    if name == nil and is_source(graph.apps[from], fed) then into[spec] = from end
    if name == to then into[spec] = from end
    if name == from then out_of[spec] = from end
  end
  return next(into) and into or out_of
end

--- A tap that follows packets: `arguments` = {app = where packets are chosen, or nil,
--- filter = an expression of pcap-filter(7), or nil, count = how many in all, rate =
--- how many a second}. It calls tell(record) for each at its end.
function tracer.new(arguments, tell)
  local self = setmetatable({
    app = arguments.app, count = arguments.count, rate = arguments.rate, left = 0,
    tell = tell, records = {}, active = 0, begins = beginnings(arguments.app),
    follows = true, next_second = 0, filter = false,
  }, Tracer)
  if arguments.filter then self.filter = filter.new(arguments.filter) end
  self:tend(C.pg_now())
  return self
end

-- Following one -------------------------------------------------------------------

local function bytes_of(p) return ffi.string(p.data, math.min(p.length, MOST_BYTES)) end

local function hex(bytes)
  return (bytes:gsub(".", function (c) return ("%02x"):format(c:byte()) end))
end

-- The packet's bytes, if they aren't as they were last told.
local function changed(record, p)
  local bytes, length = bytes_of(p), p.length
  if bytes == record.bytes and length == record.length then return {} end
  record.bytes, record.length = bytes, length
  return {data = hex(bytes), length = length}
end

local function finish(self, record, how)
  self.records[record.address] = nil
  self.active = self.active - 1
  how.app = how.app or record.at
  self.tell{hops = record.hops, ["end"] = how}
end

local function hop(record, spec, p)
  local step = changed(record, p)
  step.link = spec
  record.hops[#record.hops + 1] = step
  local _, _, to = config.parse_link(spec)
  record.at, record.spec, record.since = to, spec, C.pg_now()
end

-- What becomes of a packet in an app that takes it out of this graph, or nil.
local function outcome(app, length)
  local port = app and app.port
  if app and app.is_remote then return {what = "handed on"} end
  if type(port) ~= "cdata" or not ffi.istype("struct port", port) then return nil end
  if length < port.min_frame then
    return {what = "dropped", reason = "shorter than the port can send"}
  elseif length > port.max_frame + 4 then
    return {what = "dropped", reason = "longer than the port can send"}
  end
  return {what = "sent"}
end

local function step(self, record, spec, p)
  hop(record, spec, p)
  local how = outcome(graph.apps[record.at], record.length)
  if how then return finish(self, record, how) end
  if #record.hops >= MOST_HOPS then finish(self, record, {what = "left in a loop"}) end
end

local function begin(self, spec, p)
  local record = {address = address(p), hops = {}, began = C.pg_now()}
  self.records[record.address] = record
  self.active, self.left = self.active + 1, self.left - 1
  self.count = self.count - 1
  step(self, record, spec, p)
end

-- Is the packet one to begin with?
local function matches(self, p)
  return not self.filter or match(self.filter, p.data, p.length) ~= 0
end

-- A packet at the link. One that comes into the graph anew is another one, unless the
-- app that it comes from was given it.
local function look(self, spec, p, begins)
  local record = self.active > 0 and self.records[address(p)]
  if record and begins and not self.app and record.at ~= begins then
    finish(self, record, {what = "freed"})
    record = nil
  end
  if record then return step(self, record, spec, p) end
  if begins and self.left > 0 and self.active < AT_ONCE and matches(self, p) then
    begin(self, spec, p)
  end
end

-- The number of the first packet that the filter accepts, or n. (Most bursts have
-- none: this is all that a trace costs then.)
local function first_match(f, packets, n)
  for i = 0, n - 1 do
    local p = packets[i]
    if match(f, p.data, p.length) ~= 0 then return i end
  end
  return n
end

local function look_at_all(self, spec, packets, first, n, begins)
  for i = first, n - 1 do look(self, spec, packets[i], begins) end
end

-- As a tap ------------------------------------------------------------------------

--- All links within regions.
function Tracer.wants() return true end

--- A burst comes to an app, or a region.
function Tracer:burst(spec, packets, n)
  local begins, first = self.begins[spec], 0
  if self.active == 0 then
    if not begins or self.left <= 0 then return self.within end
    if self.filter then first = first_match(self.filter, packets, n) end
  end
  if first < n then look_at_all(self, spec, packets, first, n, begins) end
  return self.active > 0 or self.within
end

--- A packet passes a link within a region, or to a port.
function Tracer:seen(spec, p)
  local begins = self.begins[spec]
  if self.active > 0 or begins then look(self, spec, p, begins) end
end

local function record_of(self, name, p)
  local record = self.active > 0 and self.records[address(p)]
  return record and record.at == name and record or nil
end

--- The app drops it.
function Tracer:lost(name, reason, p)
  local record = record_of(self, name, p)
  if not record then return end
  local how = changed(record, p)
  how.what, how.reason, how.app = "dropped", reason, name
  finish(self, record, how)
end

-- Is the packet among those that can be allocated?
local function is_free(p_address)
  local list = pool.freelist
  for i = list.nfree - 1, 0, -1 do
    if address(list.list[i]) == p_address then return true end
  end
  return false
end

--- The app keeps it, for now: it may come out of it later.
function Tracer:kept(name, p)
  local record = record_of(self, name, p)
  if not record then return end
  if is_free(record.address) then return finish(self, record, {what = "freed"}) end
  record.since = C.pg_now()
end

--- An app outside of regions has been called: has it freed what it was given?
function Tracer:after(app)
  if self.active == 0 then return end
  for _, record in pairs(self.records) do
    if record.at == app.appname and is_free(record.address) then
      finish(self, record, {what = "freed"})
    end
  end
end

-- Time ----------------------------------------------------------------------------

-- Is the packet still in the ring of the link?
local function waits(spec, p_address)
  local l = graph.links[spec]
  if not l then return false end
  for cursor = tonumber(l.read), tonumber(l.read) + bit.tobit(l.write - l.read) - 1 do
    if address(l.packets[cursor % tonumber(C.LINK_RING_SIZE)]) == p_address then
      return true
    end
  end
  return false
end

--- The time is `now`: say what became of those of which nothing is heard; choose again
--- as many in a second as is allowed. The graph may be another.
function Tracer:tend(now)
  for _, record in pairs(self.records) do
    if now - record.since > PATIENCE_SECONDS then
      local what = waits(record.spec, record.address) and "waits" or "kept"
      finish(self, record, {what = what})
    end
  end
  self.begins = beginnings(self.app)
  self.within = false -- do packets begin in the midst of a region?
  for spec in pairs(self.app and self.begins or {}) do
    self.within = self.within or not graph.shows_burst(spec)
  end
  if now >= self.next_second then
    self.next_second, self.left = now + 1, self.rate
  end
  self.left = math.min(self.left, self.count)
end

--- The main thread hasn't taken what was told: as many others are chosen.
function Tracer:lose(told) self.count = self.count + #told end

--- Nothing more is to be chosen, or followed: those on their way are told of.
function Tracer:stop()
  for _, record in pairs(self.records) do finish(self, record, {what = "kept"}) end
end

return tracer
