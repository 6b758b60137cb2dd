-- SPDX-License-Identifier: Apache-2.0
-- Queues of software: each packet comes out of one, or is counted as missed.

local ffi = require("ffi")
local C = require("core.native")
local declare = require("core.declare")
local eal = require("core.eal")
local packet = require("core.packet")
local pool = require("core.pool")

declare("net/classify/queues.h")
declare("native/packet_ring.h")

local SIZE, BURST = 8, 4 -- of a ring, of which one place stays empty; of a burst

-- `n` queues, of which those from `base` on get packets by their hash.
local function queues(n, rss, base)
  local s, list = ffi.new("struct pg_soft_queues"), {}
  for i = 0, n - 1 do
    list[i] = ffi.new("struct pg_soft_queue")
    list[i].ring = C.pg_packet_ring_new(SIZE, -1, true)
    assert.is_not_nil(list[i].ring)
    s.list[i] = list[i]
  end
  s.n, s.rss_queues, s.rss_base, s.made_at = n, rss or n, base or 0, C.pg_tsc()
  return s, list
end

-- Packets that this state has allocated and C frees: the account has them as sent.
local out = 0

local function free(list)
  for i = 0, #list do C.pg_packet_ring_free(list[i].ring) end
  pool.freelist.sent, out = pool.freelist.sent + out, 0
end

local function give_back(p)
  out = out - 1
  packet.free(p)
end

-- UDP from that port.
local function udp(port)
  out = out + 1
  return packet.from_string(("\0"):rep(12) .. "\8\0\69\0\0\28\0\1\0\0\64\17\0\0"
    .. "\10\0\0\1\10\0\0\2" .. string.char(math.floor(port / 256), port % 256)
    .. "\0\7\0\8\0\0")
end

-- Sort packets from these ports for queue `own`: how many it keeps, which are freed.
local function sort(s, own, ports, now)
  local burst = ffi.new("struct packet *[?]", #ports)
  local kept = ffi.new("struct packet *[?]", #ports)
  for i, port in ipairs(ports) do burst[i - 1] = udp(port) end
  local n = C.pg_soft_queues_sort(s, own, burst, #ports, kept, now or C.pg_tsc())
  for i = 0, n - 1 do give_back(kept[i]) end
  return n
end

describe("queues of software", function ()
  setup(function () eal.start() end)

  it("get each packet once, a flow's in one queue", function ()
    local s, list = queues(3)
    local ports = {}
    for i = 1, 12 do ports[i] = 1000 + i % 4 end
    local got = sort(s, 0, ports)
    for i = 0, 2 do
      local waiting = C.pg_packet_ring_count(list[i].ring)
      assert.equal(0, waiting % 3) -- of each of the four flows there are three
      got = got + waiting + tonumber(list[i].missed)
    end
    assert.equal(12, got)
    assert.equal(0, C.pg_packet_ring_count(list[0].ring))
    free(list)
  end)

  it("lose what is for one that is full, and count it", function ()
    local s, list = queues(2, 1, 1)
    assert.equal(0, sort(s, 0, {1, 2, 3, 4, 5, 6, 7, 8, 9}))
    assert.equal(7, C.pg_packet_ring_count(list[1].ring))
    assert.equal(2, tonumber(list[1].missed))
    free(list)
  end)

  it("go by rules first, and free what is for none", function ()
    local s, list = queues(2, 1, 0)
    s.rules.n = 2
    s.rules.list[0] = {kind = C.PG_RULE_FIVE_TUPLE, queue = 1, src_port = 5,
      src_port_mask = 0xffff}
    s.rules.list[1] = {kind = C.PG_RULE_FIVE_TUPLE, queue = -1, src_port = 6,
      src_port_mask = 0xffff}
    assert.equal(1, sort(s, 0, {4, 5, 6}))
    assert.equal(1, C.pg_packet_ring_count(list[1].ring))
    assert.equal(0, tonumber(list[1].missed))
    free(list)
  end)

  it("let packets wait in the device for one that is polled", function ()
    local s, list = queues(2, 1, 1)
    local now = C.pg_tsc()
    local function have_room(at) return C.pg_soft_queues_have_room(s, 0, BURST, at) end
    list[1].polled = now
    sort(s, 0, {1, 2, 3}, now)
    assert.is_true(have_room(now))
    sort(s, 0, {4}, now)
    assert.is_false(have_room(now))
    assert.is_true(have_room(now + 2 * C.pg_tsc_hz())) -- nobody asks: it loses them
    free(list)
  end)

  it("stamp packets of those that ask for it", function ()
    local s, list = queues(2, 1, 1)
    list[1].stamps = 1
    sort(s, 0, {1}, 4711)
    local p = ffi.new("struct packet *[1]")
    assert.equal(1, C.pg_packet_ring_take(list[1].ring, p, 1))
    assert.equal(4711, tonumber(p[0].timestamp))
    give_back(p[0])
    free(list)
  end)
end)
