-- SPDX-License-Identifier: Apache-2.0
-- Makes the packets of a description, in bursts: what apps.generate is built on. All
-- that can be worked out beforehand is (templates, checksums, the loop's source).

local ethernet = require("net.wire.ethernet")
local ffi = require("ffi")
local C = require("core.native")
local address = require("lib.stack.address")
local arrivals = require("lib.traffic.arrivals")
local failure = require("core.failure")
local fields = require("lib.traffic.fields")
local headers = require("lib.traffic.headers")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local probe = require("lib.traffic.probe")
local random = require("lib.traffic.random")
local schedule = require("net.rate.schedule")
local sizes = require("lib.traffic.sizes")
local sums = require("lib.traffic.sums")
local template = require("lib.traffic.template")
local writer = require("lib.traffic.writer")

local band, rshift, floor = bit.band, bit.rshift, math.floor

local M = {}

local SHORTEST_FRAME = ethernet.SHORTEST
local MOST_SETTINGS = 16

ffi.cdef(([[
struct perigee_traffic {
  double sent, length, wire;   /* packets, bytes, bytes of frames padded to 60 */
  double number;               /* of the next packet with a record */
  double flow;
  int32_t cursor;              /* in the round of sizes */
  double turns[%d];            /* of the settings */
};
]]):format(MOST_SETTINGS))

-- The sum of 32-bit halves, and of 16-bit parts: the same modulo 65,535.
local function fold32(x)
  local high = floor(x * 2^-32)
  return x - high * 2^32 + high
end

local function fold16(x)
  local high = floor(x * 2^-32)
  x = x - high * 2^32 + high
  high = floor(x * 2^-16)
  x = x - high * 2^16 + high -- below 2^18: the first part was below 2^33
  x = band(x, 0xffff) + rshift(x, 16)
  return band(x, 0xffff) + rshift(x, 16)
end

local Maker = {}
Maker.__index = Maker

local function mix_of(size, needed)
  size = size or math.min(math.max(SHORTEST_FRAME, needed), packet.max_payload)
  local mix, problem = sizes.parse(tostring(size))
  if not mix then failure.usage("%s", problem) end
  return mix
end

local function list_of(setting)
  local list = setting.spec.list
  if setting.field.kind ~= "ip6" then return ffi.new("double[?]", #list, list) end
  local array = ffi.new("struct perigee_ip6[?]", #list)
  for i, item in ipairs(list) do ffi.copy(array + (i - 1), item, 16) end
  return array
end

local function constant_of(setting)
  local value = setting.spec.first
  if setting.field.kind == "ip6" then return address.parseIP6Address(value) end
  if setting.field.kind == "ip4" then return address.parseIP4Address(value) end
  return setting.field.kind == "mac" and address.parseMacAddress(value, true) or value
end

-- A function that gives up on a packet that a script has made too long or too short.
local function refuser(header_size)
  return function (p)
    local size = p.length
    packet.free(p)
    failure.raise("the script made a packet of %d bytes; its headers have %d, and a"
      .. " packet has at most %d", size, header_size, packet.max_payload)
  end
end

-- What the source needs as upvalues.
local function arguments(self, settings, seed)
  local t = self.template
  local A = {
    allocate = packet.allocate, transmit = link.transmit, copy = ffi.copy,
    fill = ffi.fill, cast = ffi.cast, bswap = bit.bswap, rshift = rshift, floor = floor,
    random_at = random.at, fold16 = fold16, fold32 = fold32,
    u16_ptr = ffi.typeof("uint16_t *"), u32_ptr = ffi.typeof("uint32_t *"),
    u64_ptr = ffi.typeof("uint64_t *"), u64 = ffi.typeof("uint64_t"),
    probe_ptr = ffi.typeof("struct perigee_probe *"), advance = schedule.advance,
    gap_of = arrivals.gap, arrivals = self.arrivals,
    state = self.state, schedule = self.schedule, stack = self.stack,
    user = self.user, refuse = refuser(self.stack.size),
    bytes = t.bytes, round = t.round, sizes = t.sizes,
    records = t.records,
  }
  for i, setting in ipairs(settings) do
    local spec = setting.spec
    if spec.kind == "random" then A["seed" .. i] = random.mix(seed * 1000ULL + i) end
    if spec.kind == "list" then A["list" .. i] = list_of(setting) end
    if spec.kind == "constant" then A["constant" .. i] = constant_of(setting) end
    if setting.field.kind == "ip6" then A["low" .. i] = spec.low end
  end
  for k, base in ipairs(t.bases) do A["base" .. k] = base end
  return A
end

--- A maker of packets. `o` is a table:
---  stack: as text or an array (lib.traffic.headers; default "eth,ip4,udp");
---  set: an array of LABEL=VALUE (lib.traffic.values);
---  size: a size mix as text (lib.traffic.sizes), or a number; by default 60, or as
---    much as the headers and the record (lib.traffic.probe) need;
---  flows: after how many packets the values come again (default: all combinations);
---  seed: of random values and arrivals (default 1);
---  stream: the number of the stream, from 0: its packets' numbers begin at that times
---    lib.traffic.probe's SPAN (default 0);
---  rate (lib.traffic.rate), arrivals: "constant" or "poisson";
---  payload: the bytes (a string) behind the headers, before the record; they end where
---    the packet does, and zeros follow where it is longer;
---  record: false: no packet has one; "any": one that has no room for the payload and
---  the
---    record has the record first, and the payload's beginning; by default it has none;
---  clock: a function that returns the records' time (uint64_t; default: ticks);
---  packet: a function (pkt, i) called for each packet, i from 0, before its checksums
---    are computed; lengths are set too if it changes pkt.length;
---  slow_checksums: true: compute every checksum over its bytes (for tests).
--- Raises a sentence if something of it is wrong.
function M.new(o)
  local seed = o.seed or 1
  local cast, extra = headers.parse(o.stack or "eth,ip4,udp")
  local self = setmetatable({stack = cast}, Maker)
  for _, text in ipairs(o.set or {}) do extra.set[#extra.set + 1] = text end
  local settings = fields.parse(self.stack.shape, extra.set)
  if #settings > MOST_SETTINGS then
    failure.usage("%d fields can be set, not %d", MOST_SETTINGS, #settings)
  end
  extra.payload, extra.record = o.payload or "", o.record
  self.record_at = self.stack.size + #extra.payload
  local needed = self.record_at + (o.record == false and 0 or probe.SIZE)
  self.mix, self.settings = mix_of(o.size, needed), settings
  self.least = (o.record == "any" and self.stack.size or self.record_at) + probe.SIZE
  self.flows = fields.flows(settings, o.flows)
  self.user, self.clock = o.packet, o.clock
  local list = not (o.packet or o.slow_checksums)
    and sums.of(self.stack.shape, settings, self.record_at) or nil
  self.template = template.make(self.stack, self.mix, settings, list or {}, extra)
  self.paced, self.schedule = o.rate ~= nil, schedule.new()
  self.arrivals = arrivals.new(o.rate, o.arrivals, seed)
  self.state = ffi.new("struct perigee_traffic")
  self.state.number = (o.stream or 0) * probe.SPAN
  local job = {
    template = self.template, settings = settings, sums = list, flows = self.flows,
    user = o.packet ~= nil, paced = self.paced, record_at = self.record_at,
    header_size = self.stack.size, odd_payload = #extra.payload % 2 == 1,
    folds = (o.stream or 0) > 0,
  }
  job.arguments = arguments(self, settings, seed)
  self.source = writer.source(job)
  self.description = {stack = o.stack, set = o.set, size = o.size, flows = o.flows,
                      seed = o.seed, packet = o.packet, payload = o.payload,
                      record = o.record}
  self.make = assert(loadstring(self.source, "=traffic"))(job.arguments)
  return self
end

--- The clock of the records, in ticks; for tests to replace.
M.clock = C.pg_tsc

-- The time in network order, and what it adds to a checksum.
local function stamp(clock)
  local ticks = clock()
  local low = tonumber(band(ticks, 0xffffffffULL))
  return bit.bswap(ticks), tonumber(rshift(ticks, 32)) + low
end

--- Send to the link `output` up to `n` packets, those that are due at `now`, seconds
--- since the maker's schedule began. All bear the same time.
function Maker:burst(output, n, now)
  if self.paced and not schedule.begin(self.schedule, now) then return end
  self.make(output, n, now, stamp(self.clock or M.clock))
end

--- What was sent by the maker `other` counts on in this one, and so do the numbers if
--- `numbered`. If both make the same packets the next one follows the other's last.
function Maker:go_on_from(other, numbered)
  local state, before = self.state, other.state
  local number = state.number
  if lib.equal(self.description, other.description) then
    ffi.copy(state, before, ffi.sizeof(state))
  end
  state.sent, state.length, state.wire = before.sent, before.length, before.wire
  state.number = numbered and before.number or number
end

--- How many packets had room for a number and a time: "all", "some" or "none";
--- "changed": all of those sent, but the script's function has changed that of some;
--- "off": they bear none. A packet with one has at least `least` bytes.
function Maker:records(numbered)
  local t = self.template
  if self.description.record == false then return "off" end
  if self.user and t.all and numbered and numbered < self.state.sent then
    return "changed"
  end
  return t.all and "all" or t.some and "some" or "none"
end

return M
