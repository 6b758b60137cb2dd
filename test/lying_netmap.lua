-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/lying_netmap.lua BURSTS SEED: receives and sends so many bursts by
-- netmap's rings in memory that another process writes to meanwhile, whatever it likes.
-- Pages that can't be touched lie around the rings and behind the buffers.

local ffi = require("ffi")
local signal = require("posix.signal")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait")
local C = require("core.native")
local packet = require("core.packet")
local pool = require("core.pool")
local guard = require("testing.fuzz.guard")

ffi.cdef [[
struct lie_slot { uint32_t buf_idx; uint16_t len, flags; uint64_t ptr; };
struct lie_ring {
  int64_t buf_ofs; uint32_t num_slots, nr_buf_size; uint16_t ringid, dir;
  uint32_t head, cur, tail, flags; int64_t ts[2]; uint64_t offset_mask, buf_align;
  uint8_t pad[56], sem[128]; struct lie_slot slot[16];
};
struct lie_queue {
  struct lie_ring *ring; uint8_t *buffers;
  uint32_t slots, buffer_bytes, most_index, released;
};
struct lie_port {
  int fd, promiscuous; bool is_interface; char name[16]; uint8_t *memory; size_t bytes;
  struct lie_queue send, receive[64]; uint32_t rings, turn; struct port_stats counts;
};
uint16_t pg_netmap_receive(struct port *, struct packet **, uint16_t);
uint16_t pg_netmap_send(struct port *, struct packet **, uint16_t);
]]

local bursts, seed = ...
local SLOTS, BYTES, PAGE, GOES_ON = 16, 2048, 4096, 0x20
local MOST, LEAST, BURST = 10240, 14, 8

local ring_p = ffi.typeof("struct lie_ring *")

-- So many bytes that processes share, with pages around them that can't be touched.
local function fenced(bytes)
  local whole = math.ceil(bytes / PAGE) * PAGE
  local memory = ffi.cast("uint8_t *", guard.shared((whole + 2 * PAGE) / 4))
  assert(ffi.C.mprotect(memory, PAGE, 0) == 0)
  assert(ffi.C.mprotect(memory + PAGE + whole, PAGE, 0) == 0)
  return memory + PAGE + whole - bytes
end

local function queue(q)
  local ring = ffi.cast(ring_p, fenced(ffi.sizeof("struct lie_ring")))
  q.ring, q.buffers = ring, fenced(SLOTS * BYTES)
  q.slots, q.buffer_bytes, q.most_index = SLOTS, BYTES, SLOTS - 1
  ring.num_slots, ring.nr_buf_size = SLOTS, BYTES
  for i = 0, SLOTS - 1 do ring.slot[i].buf_idx, ring.slot[i].len = i, 60 end
  return ring
end

local wild = {[0] = SLOTS, SLOTS + 1, 255, 65536, 2^27, 2^31, 2^32 - 1, 2^32 - SLOTS}
local lengths = {[0] = 0, 13, 14, 60, 1514, BYTES - 1, BYTES, BYTES + 1, 65535}

-- One lie. Most leave the ring as if the kernel had filled it.
local function lie(ring)
  local dice, i = math.random(0, 29), math.random(0, SLOTS - 1)
  if dice == 0 then
    ring.head = wild[math.random(0, 7)]
  elseif dice == 1 then
    ring.tail = wild[math.random(0, 7)]
  elseif dice == 2 then
    ring.slot[i].buf_idx = wild[math.random(0, 7)]
  elseif dice == 3 then
    ring.num_slots, ring.nr_buf_size = wild[math.random(0, 7)], 65535
  elseif dice < 6 then
    ring.slot[i].len, ring.slot[i].flags = lengths[math.random(0, 8)],
      math.random(0, 1) * GOES_ON
  elseif dice < 20 then
    ring.slot[i].buf_idx, ring.slot[i].len, ring.slot[i].flags = i, 60, 0
  else
    ring.head, ring.tail = i, (i + math.random(0, SLOTS - 1)) % SLOTS
  end
end

local function lie_for_ever(receive, send, lies)
  while true do
    lie(receive)
    lie(send)
    lies[0] = lies[0] + 2
  end
end

local port, state = ffi.new("struct port"), ffi.new("struct lie_port")
pool.create()
state.fd, state.rings = -1, 1
local receive, send = queue(state.receive[0]), queue(state.send)
local lies = guard.shared(1)
math.randomseed(tonumber(seed))
local liar = assert(unistd.fork())
if liar == 0 then
  pcall(lie_for_ever, receive, send, lies)
  unistd._exit(1)
end

port.state, port.pool, port.account = state, pool.near(-1), pool.freelist
local packets, got_in_all, sent_in_all = ffi.new("struct packet *[64]"), 0, 0

local function one()
  local got = C.pg_netmap_receive(port, packets, BURST)
  pool.freelist.received = pool.freelist.received + got
  for i = 0, got - 1 do
    local length = packets[i].length
    assert(length >= LEAST and length <= MOST, length)
    packet.free(packets[i])
  end
  for i = 0, BURST - 1 do packets[i] = packet.resize(packet.allocate(), 1500) end
  local done = C.pg_netmap_send(port, packets, BURST)
  pool.freelist.sent = pool.freelist.sent + done
  for i = done, BURST - 1 do packet.free(packets[i]) end
  got_in_all, sent_in_all = got_in_all + got, sent_in_all + done
end

local ok, err = pcall(function () for _ = 1, tonumber(bursts) do one() end end)
signal.kill(liar, signal.SIGKILL)
wait.wait(liar)
assert(ok, err)
print(("%s bursts, %d lies, %d received, %d sent, %d refused"):format(bursts, lies[0],
  got_in_all, sent_in_all, tonumber(state.counts.ierrors + state.counts.oerrors)))
