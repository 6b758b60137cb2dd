-- SPDX-License-Identifier: Apache-2.0
-- A client and a server of net/tcp on a wire that loses, delays and swaps packets, with
-- a clock that is simulated: nothing depends on how fast the machine is.

local C = require("core.declare")("net/tcp/connection.h")
local ffi = require("ffi")
local latency = require("lib.traffic.latency")
local packet = require("core.packet")
local setup = require("apps.connect.setup")

local M = {}

local TICK_NS = 2^20
local START_NS = 2^40
local MOST = 256

local Wire = {}
Wire.__index = Wire

local function merged(one, other)
  local t = {}
  for k, v in pairs(one) do t[k] = v end
  for k, v in pairs(other or {}) do t[k] = v end
  return t
end

-- A generator of numbers from 0 to 1 of our own: math.random is everybody's.
local function random(seed)
  local state = seed
  return function ()
    state = (state * 16807) % 2147483647
    return state / 2147483647
  end
end

--- A wire. `options`: those of both endpoints (apps.connect.setup), and `client` and
--- `server`, of one; `loss` and `swap` (shares of the packets), `delay` and `late`
--- (milliseconds of each packet, and more of one that is swapped), `seed`; `seen`, a
--- function of each packet that is sent, its time in ns, whether the client sent it and
--- whether it will be lost; `change`, a function of a packet, before it is sent.
function M.new(options)
  local base = {clients = "10.0.0.1..10.0.0.250", servers = "10.0.1.1", seed = 1,
                peer_mac = "02:00:00:00:00:02"}
  local common = merged(base, options.both)
  local self = setmetatable({
    client = setup.new(false, merged(common, options.client)),
    server = setup.new(true, merged(common, options.server)),
    tick = 0, queue = {}, random = random(options.seed or 7), lost = 0, sent = 0,
    options = options, connect = latency.new(), first_byte = latency.new(),
  }, Wire)
  for _, side in ipairs{self.client, self.server} do
    side.endpoint.wheel.tick = START_NS / TICK_NS
  end
  return self
end

function Wire:now() return START_NS + self.tick * TICK_NS end

local function fill(e)
  for i = e.spares, MOST - 1 do e.spare[i] = packet.allocate() end
  e.spares, e.out_room = MOST, MOST
end

local function put(self, to, p, from_client)
  local o = self.options
  self.sent = self.sent + 1
  if o.change then o.change(p, from_client, self) end
  local lost = self.random() < (o.loss or 0)
  if o.seen then o.seen(p, self:now(), from_client, lost) end
  if lost then
    self.lost = self.lost + 1
    packet.free(p)
    return
  end
  local at = self.tick + (o.delay or 1)
  if self.random() < (o.swap or 0) then at = at + (o.late or 1) end
  local list = self.queue[at] or {client = {}, server = {}}
  self.queue[at] = list
  list[to][#list[to] + 1] = p
end

local function flush(self, side, to)
  local e = side.endpoint
  repeat
    local left = C.pg_tcp_output(e, self:now())
    local n = e.outs
    for i = 0, n - 1 do put(self, to, e.outgoing[i], to == "server") end
    e.outs = 0
    fill(e)
  until left == 0 or n == 0
end

local burst = ffi.new("struct packet *[?]", MOST)

local function deliver(side, packets, now)
  local e = side.endpoint
  for from = 1, #packets, MOST do
    local n = math.min(MOST, #packets - from + 1)
    for i = 0, n - 1 do burst[i] = packets[from + i] end
    fill(e)
    C.pg_tcp_input(e, burst, n, now)
    for i = 0, n - 1 do packet.free(burst[i]) end
  end
end

local function samples(histogram, list)
  for i = 0, list.n - 1 do latency.add(histogram, list.ns[i]) end
  list.n = 0
end

local function what_timers_do(e)
  return e.ready_last, tonumber(e.counts.open), tonumber(e.counts.timeouts)
end

-- Timers do nothing before the time at which the endpoint has said they are due.
local function run_timers(e, now)
  local idle = now < C.pg_tcp_due(e)
  local ready, open, timeouts = what_timers_do(e)
  C.pg_tcp_timers(e, now)
  if idle then
    local ready_now, open_now, timeouts_now = what_timers_do(e)
    assert(ready == ready_now and open == open_now and timeouts == timeouts_now,
      "a timer was due earlier than the endpoint said")
  end
end

--- A millisecond: `opens` connections are opened in it.
function Wire:step(opens)
  self.tick = self.tick + 1
  local now, list = self:now(), self.queue[self.tick]
  self.queue[self.tick] = nil
  if list then
    deliver(self.client, list.client, now)
    deliver(self.server, list.server, now)
  end
  fill(self.client.endpoint)
  fill(self.server.endpoint)
  run_timers(self.client.endpoint, now)
  run_timers(self.server.endpoint, now)
  if opens > 0 then C.pg_tcp_open(self.client.endpoint, opens, now) end
  flush(self, self.client, "server")
  flush(self, self.server, "client")
  samples(self.connect, self.client.endpoint.connect)
  samples(self.first_byte, self.client.endpoint.first_byte)
end

local function counts(side) return side.endpoint.counts end

--- Open `n` connections, some each millisecond, and go on until all have ended on both
--- sides, or for `most` milliseconds (default: half an hour's).
function Wire:run(n, most)
  local client, server = counts(self.client), counts(self.server)
  for _ = 1, most or 1.8e6 do
    local left = n - tonumber(client.started)
    self:step(math.min(left, 16))
    if left <= 0 and client.open == 0 and server.open == 0 then
      assert(self.client.endpoint.awaited == 0, "it awaits answers without connections")
      return true
    end
  end
  return false
end

--- The counts of "client" or "server" as a table of numbers.
function Wire:counts(name)
  local t, c = {}, counts(self[name])
  for _, key in ipairs{"started", "established", "closed", "reset", "refused",
    "timed_out", "aborted", "open", "requests", "answers", "failed_answers",
    "unreadable", "cut_short", "bytes_sent", "bytes_received", "bytes_resent",
    "timeouts", "fast_retransmits", "retransmits", "probes", "out_of_order",
    "duplicates", "resets_sent", "bad_checksum", "malformed", "fragments", "not_ours",
    "no_room", "no_tuple", "no_buffer", "in_time_wait"} do
    t[key] = tonumber(c[key])
  end
  return t
end

--- Free what it has.
function Wire:free()
  for _, side in ipairs{self.client, self.server} do
    local e = side.endpoint
    for i = 0, e.spares - 1 do packet.free(e.spare[i]) end
    e.spares = 0
  end
  for _, list in pairs(self.queue) do
    for _, of in pairs(list) do
      for _, p in ipairs(of) do packet.free(p) end
    end
  end
  self.queue = {}
end

return M
