-- SPDX-License-Identifier: Apache-2.0
-- Client and Server: the two ends of connections, as apps with one port each (`input`,
-- `output`). The connections are C's (net/tcp).

local C = require("core.declare")("net/tcp/connection.h")
local ffi = require("ffi")
local latency = require("lib.traffic.latency")
local link = require("core.link")
local neighbors = require("apps.connect.neighbors")
local packet = require("core.packet")
local pool = require("core.pool")
local schedule = require("net.rate.schedule")
local setup = require("apps.connect.setup")

local min = math.min
local freelist = pool.freelist

local BURST = tonumber(C.TCP_BURST)
local burst = ffi.new("struct packet *[?]", BURST)
local AWAKE_S = 1 -- after a packet to one who never answers

local Endpoint = {}

local function new(class, server, arg)
  local s = setup.new(server, arg)
  return setmetatable({
    setup = s, state = s.endpoint, abort_at = ffi.new("uint32_t[1]"),
    neighbors = neighbors.new(s.endpoint, s.own, s.targets),
    resolved = #s.targets == 0, connect = latency.new(), first_byte = latency.new(),
    times = schedule.new(), gap = s.rate and 1 / s.rate, left = s.count or math.huge,
    began = false, full = false, heard = 0,
  }, class)
end

function Endpoint:link()
  self.source, self.sink = self.input.input, self.output.output
end
Endpoint.unlink = Endpoint.link

local function fill(state)
  for i = state.spares, BURST - 1 do state.spare[i] = packet.allocate() end
  state.spares = BURST
end

-- Let C make packets of what may be sent, as long as the link has room.
local function flush(self, now)
  local state, output = self.state, self.sink
  for _ = 1, 4 do
    local room = min(BURST, link.nwritable(output))
    state.out_room = room
    local left = C.pg_tcp_output(state, now)
    local n = state.outs
    if n > 0 then
      self.heard = 1e-9 * tonumber(now)
      C.pg_give(freelist, output, state.outgoing, n)
      state.outs = 0
      fill(state)
    end
    if left == 0 or n == 0 then return end
  end
end

local function add_samples(histogram, samples)
  for i = 0, samples.n - 1 do latency.add(histogram, samples.ns[i]) end
  samples.n = 0
end

local function drain_samples(self)
  local state = self.state
  if state.connect.n > 0 then add_samples(self.connect, state.connect) end
  if state.first_byte.n > 0 then add_samples(self.first_byte, state.first_byte) end
end

local function free_all(packets, n)
  for i = 0, n - 1 do packet.free(packets[i]) end
end

local function hear(self, state)
  for i = 0, state.others - 1 do self.neighbors:hear(state.other[i], self.sink) end
end

function Endpoint:push()
  local input, output, state = self.source, self.sink, self.state
  if not output then return end
  for _ = 1, 4 do
    local n = C.pg_take_counted(input, burst, BURST)
    if n == 0 then return end
    local now = C.pg_monotonic_ns()
    fill(state)
    state.out_room = min(BURST, link.nwritable(output))
    C.pg_tcp_input(state, burst, n, now)
    if state.others > 0 then hear(self, state) end
    drain_samples(self)
    free_all(burst, n)
    flush(self, now)
  end
end

-- How many connections are to be opened now.
local function due(self)
  if not self.gap then return min(BURST, self.left) end
  local times, now, gap, n = self.times, C.pg_now(), self.gap, 0
  if not self.began then
    schedule.restart(times, now)
    self.began = true
  elseif self.full and times.due < now then -- what was due then isn't made up for
    schedule.restart(times, times.due + math.ceil((now - times.due) / gap) * gap)
  end
  if schedule.begin(times, now) then
    while times.due <= now and n < BURST do
      schedule.advance(times, gap)
      n = n + 1
    end
  end
  return min(n, self.left)
end

-- Nobody says to have an address: `missing` says which.
local function resolve(self)
  if self.missing then return end
  self.resolved, self.missing = self.neighbors:ask(C.pg_now(), self.sink)
end

function Endpoint:pull()
  local state = self.state
  if not self.sink then return end
  if not self.resolved then resolve(self) end
  local now = C.pg_monotonic_ns()
  fill(state)
  state.out_room = min(BURST, link.nwritable(self.sink))
  C.pg_tcp_timers(state, now)
  if not state.held and self.resolved and self.left > 0 and not state.server then
    local full = state.counts.open >= state.limit
    if not full then
      self.left = self.left - C.pg_tcp_open(state, due(self), now)
    end
    self.full = full
  end
  flush(self, now)
end

-- When the next connection is to be opened, as seen `now`.
local function opens_at(self, now)
  local state = self.state
  if state.held or state.server or self.left <= 0 then return math.huge end
  if state.counts.open >= state.limit then return math.huge end
  return self.gap and self.began and self.times.due or now
end

--- When it has to be called though no packet comes. A client is looked at without a
--- pause while answers are awaited: that is measured.
function Endpoint:due_at(now)
  local state = self.state
  if not self.sink then return math.huge end
  if state.ready_first ~= 0 then return now end
  if state.awaited > 0 and now - self.heard < AWAKE_S then return now end
  local at = 1e-9 * tonumber(C.pg_tcp_due(state))
  if not self.resolved then
    return self.missing and at or min(at, now + neighbors.LOOK_SECONDS)
  end
  return min(at, opens_at(self, now))
end

--- Are the neighbours known that it sends to? false, and a sentence if nobody says to
--- have one's address.
function Endpoint:is_ready()
  return self.resolved, self.missing and ("nobody says to have %s: no answer within %d "
    .. "seconds"):format(self.missing, neighbors.SECONDS)
end

--- Open connections (a server: take them) from now on, or no more of them.
function Endpoint:go()
  self.state.held = false
  if self.gap and self.began then schedule.restart(self.times, C.pg_now()) end
end
function Endpoint:hold() self.state.held = true end

--- Open so many connections a second from now on.
function Endpoint:set_rate(rate)
  self.gap = 1 / rate
  schedule.restart(self.times, C.pg_now())
  self.began = true
end

--- Have at most so many connections open from now on; up to `setup.most`. Those that
--- are open stay.
function Endpoint:set_limit(limit) self.state.limit = limit end

--- Have all been opened that are to be, and all ended?
function Endpoint:done()
  return self.left <= 0 and self.state.counts.open == 0
end

--- Abort what is open: with resets, as far as there is room for them. True: that was
--- all.
function Endpoint:abort()
  local state = self.state
  fill(state)
  state.out_room = min(BURST, link.nwritable(self.sink))
  local all = C.pg_tcp_abort(state, self.abort_at)
  flush(self, C.pg_monotonic_ns())
  return all
end

--- The counts (struct tcp_counts) and the histograms of lib.traffic.latency: `connect`,
--- from the SYN to its answer, and `first_byte`, from a request to its answer's first.
function Endpoint:figures()
  return {counts = self.state.counts, connect = self.connect,
          first_byte = self.first_byte}
end

function Endpoint:stop()
  local state = self.state
  free_all(state.spare, state.spares)
  free_all(state.outgoing, state.outs)
  state.spares, state.outs = 0, 0
end

function Endpoint:report()
  local c = self.state.counts
  print(("  %.0f started, %.0f established, %.0f closed, %.0f open"):format(
    tonumber(c.started), tonumber(c.established), tonumber(c.closed), tonumber(c.open)))
end

local function class(server)
  local of = setmetatable({config = setup.FIELDS}, {__index = Endpoint})
  of.__index = of
  function of:new(arg) return new(self, server, arg) end
  return of
end

return {Client = class(false), Server = class(true)}
