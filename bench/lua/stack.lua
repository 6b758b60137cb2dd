-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/stack.lua WORK RING SIZE SECONDS: what one does to each packet
-- of a ring of RING packets through a stack, by hand and in C (bench/native/stack.c),
-- in turns of a few milliseconds. Prints a line for each: its name and TSC cycles a
-- packet, the median of the turns.
--
-- WORK: set (an IPv4 source), vxlan (five fields of headers that are there, and a
-- packet of SIZE bytes copied behind them), template (the same; the headers are copied,
-- too), check (the checked cast), ip4, udp, tcp (that checksum, of packets of SIZE
-- bytes).

local ffi = require("ffi")
local C = require("core.native")
local packet = require("core.packet")
local createStack = require("lib.stack").createStack

local band, bswap, rshift = bit.band, bit.bswap, bit.rshift
local cast, copy = ffi.cast, ffi.copy
local word = ffi.typeof("uint32_t *")

local TURNS, INNER = 31, 64

ffi.cdef[[
void bench_set(struct packet **ring, uint32_t mask, uint32_t n);
void bench_set_bytes(struct packet **ring, uint32_t mask, uint32_t n);
void bench_encapsulate(struct packet **ring, uint32_t mask, uint32_t n,
                       struct packet **inner);
void bench_template(struct packet **ring, uint32_t mask, uint32_t n,
                    struct packet **inner, const void *template);
uint32_t bench_check(struct packet **ring, uint32_t mask, uint32_t n);
void bench_ip4_sum(struct packet **ring, uint32_t mask, uint32_t n);
void bench_udp_sum(struct packet **ring, uint32_t mask, uint32_t n);
void bench_tcp_sum(struct packet **ring, uint32_t mask, uint32_t n);
]]
local root = debug.getinfo(1, "S").source:match("^@(.*)bench/lua/") or ""
local native = ffi.load(root .. "build/bench/stack.so")

local asUdp, asTcp = createStack("eth", "ip4", "udp"), createStack("eth", "ip4", "tcp")
local asVxlan = createStack("eth", "ip4", "udp", "vxlan")
local HEADERS = asVxlan.size

local work, ring_size, size, seconds = ...
ring_size, size, seconds = tonumber(ring_size), tonumber(size), tonumber(seconds)

local function make_ring(n, stack, length)
  local ring = ffi.new("struct packet *[?]", n)
  for i = 0, n - 1 do
    ring[i] = packet.allocate()
    stack(ring[i]):fill{pktLength = length}
  end
  return ring
end

local function make_inner()
  local ring = make_ring(INNER, asUdp, math.max(size, asUdp.size))
  for i = 0, INNER - 1 do ring[i].length = size end
  return ring
end

local function in_c(f)
  return {name = "c", f = f}
end

local works = {}

function works.set()
  return make_ring(ring_size, asUdp, size), {
    {name = "stack", f = function (ring, mask, n)
      for i = 1, n do asUdp(ring[band(i, mask)]).ip4.src:set(i) end
    end},
    {name = "method", f = function (ring, mask, n)
      for i = 1, n do asUdp(ring[band(i, mask)]).ip4:setSrc(i) end
    end},
    {name = "word", f = function (ring, mask, n)
      for i = 1, n do cast(word, ring[band(i, mask)].data + 26)[0] = bswap(i) end
    end},
    {name = "bytes", f = function (ring, mask, n)
      for i = 1, n do
        local data = ring[band(i, mask)].data
        data[26], data[27] = rshift(i, 24), rshift(i, 16)
        data[28], data[29] = rshift(i, 8), i
      end
    end},
    in_c(native.bench_set),
    {name = "c-bytes", f = native.bench_set_bytes},
  }
end

function works.vxlan()
  local inner = make_inner()
  return make_ring(ring_size, asVxlan), {
    {name = "stack", f = function (ring, mask, n)
      for i = 1, n do
        local p, q = ring[band(i, mask)], inner[band(i, INNER - 1)]
        local pkt, length = asVxlan(p), HEADERS + q.length
        local ip4, udp, vxlan, payload = pkt.ip4, pkt.udp, pkt.vxlan, pkt.payload
        p.length = length
        pkt:setLength(length)
        ip4.dst:set(i)
        udp:setSrcPort(i)
        vxlan:setVNI(i)
        copy(payload, q.data, q.length)
      end
    end},
    {name = "c", f = function (ring, mask, n)
      native.bench_encapsulate(ring, mask, n, inner)
    end},
  }
end

function works.template()
  local inner, first = make_inner(), packet.allocate()
  asVxlan(first):fill{ip4Src = "192.0.2.1"}
  local template = ffi.string(first.data, HEADERS)
  return make_ring(ring_size, asVxlan), {
    {name = "stack", f = function (ring, mask, n)
      for i = 1, n do
        local p, q = ring[band(i, mask)], inner[band(i, INNER - 1)]
        local pkt, length = asVxlan(p), HEADERS + q.length
        p.length = length
        copy(pkt.data, template, HEADERS)
        pkt.ip4.dst:set(i)
        pkt.udp:setSrcPort(i)
        pkt.vxlan:setVNI(i)
        pkt:setLength(length)
        copy(pkt.payload, q.data, q.length)
      end
    end},
    {name = "c", f = function (ring, mask, n)
      native.bench_template(ring, mask, n, inner, template)
    end},
  }
end

function works.check()
  return make_ring(ring_size, asUdp, size), {
    {name = "stack", f = function (ring, mask, n)
      local good = 0
      for i = 1, n do
        if asUdp.check(ring[band(i, mask)]) then good = good + 1 end
      end
      return good
    end},
    in_c(native.bench_check),
  }
end

function works.ip4()
  return make_ring(ring_size, asUdp, size), {
    {name = "stack", f = function (ring, mask, n)
      for i = 1, n do asUdp(ring[band(i, mask)]):calculateIp4Checksum() end
    end},
    in_c(native.bench_ip4_sum),
  }
end

function works.udp()
  return make_ring(ring_size, asUdp, size), {
    {name = "stack", f = function (ring, mask, n)
      for i = 1, n do asUdp(ring[band(i, mask)]):calculateUdpChecksum() end
    end},
    in_c(native.bench_udp_sum),
  }
end

function works.tcp()
  return make_ring(ring_size, asTcp, size), {
    {name = "stack", f = function (ring, mask, n)
      for i = 1, n do asTcp(ring[band(i, mask)]):calculateTcpChecksum() end
    end},
    in_c(native.bench_tcp_sum),
  }
end

local function turn(f, ring, n)
  local began = C.pg_cpu_seconds()
  f(ring, ring_size - 1, n)
  return C.pg_cpu_seconds() - began
end

-- How many packets take `wanted` seconds; the loop is compiled after that.
local function calibrate(f, ring, wanted)
  local n = 4096
  while turn(f, ring, n) < wanted and n < 2^30 do n = 2 * n end
  return n
end

local packets, variants = works[work]()

-- What a variant returns, and makes of the packets as they are now, which it gets back
-- after that.
local function outcome(f)
  local before, parts = {}, {}
  for i = 0, ring_size - 1 do
    before[i] = ffi.string(packets[i].data, packets[i].length)
  end
  parts[1] = tostring((f(packets, ring_size - 1, ring_size)))
  for i = 0, ring_size - 1 do
    local p = packets[i]
    parts[i + 2] = ffi.string(p.data, p.length)
    ffi.fill(p.data, p.length)
    copy(p.data, before[i], #before[i])
    p.length = #before[i]
  end
  return table.concat(parts)
end

local right = outcome(variants[1].f)
for _, variant in ipairs(variants) do
  assert(outcome(variant.f) == right, variant.name .. " does something else")
end
for _, variant in ipairs(variants) do
  variant.n, variant.seconds = calibrate(variant.f, packets, seconds / 3 / TURNS), {}
end
for i = 1, TURNS do
  for _, variant in ipairs(variants) do
    variant.seconds[i] = turn(variant.f, packets, variant.n)
  end
end
for _, variant in ipairs(variants) do
  table.sort(variant.seconds)
  print(("%s %.4f"):format(variant.name,
    variant.seconds[math.ceil(TURNS / 2)] * tonumber(C.pg_tsc_hz()) / variant.n))
end
