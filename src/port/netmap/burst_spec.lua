-- SPDX-License-Identifier: Apache-2.0
-- Bursts out of netmap's rings and into them (burst.c), on rings in ordinary
-- memory, where the spec is the kernel: what a ring says is looked at before it is
-- believed.

local ffi = require("ffi")
local C = require("core.native")
local packet = require("core.packet")
local pool = require("core.pool")

ffi.cdef [[
struct spec_slot { uint32_t buf_idx; uint16_t len, flags; uint64_t ptr; };
struct spec_ring {
  int64_t buf_ofs; uint32_t num_slots, nr_buf_size; uint16_t ringid, dir;
  uint32_t head, cur, tail, flags; int64_t ts[2]; uint64_t offset_mask, buf_align;
  uint8_t pad[56], sem[128]; struct spec_slot slot[?];
} __attribute__((aligned(128)));
struct spec_queue {
  struct spec_ring *ring; uint8_t *buffers;
  uint32_t slots, buffer_bytes, most_index, released;
};
struct spec_port {
  int fd, promiscuous; bool is_interface; char name[16]; uint8_t *memory; size_t bytes;
  struct spec_queue send, receive[64]; uint32_t rings, turn; struct port_stats counts;
};
uint16_t pg_netmap_receive(struct port *, struct packet **, uint16_t);
uint16_t pg_netmap_send(struct port *, struct packet **, uint16_t);
]]

local SLOTS, BYTES, GOES_ON = 8, 256, 0x20
local GUARD = 0xee -- behind the buffers

-- A ring whose slot i has buffer i, and the memory of the buffers.
local function queue(q)
  local ring = ffi.new("struct spec_ring", SLOTS)
  local buffers = ffi.new("uint8_t[?]", (SLOTS + 1) * BYTES)
  ffi.fill(buffers + SLOTS * BYTES, BYTES, GUARD)
  ring.num_slots, ring.nr_buf_size, ring.tail = SLOTS, BYTES, 0
  for i = 0, SLOTS - 1 do ring.slot[i].buf_idx = i end
  q.ring, q.buffers, q.slots, q.buffer_bytes = ring, buffers, SLOTS, BYTES
  q.most_index = SLOTS - 1
  return {ring = ring, buffers = buffers}
end

describe("a netmap port", function ()
  local port, state, rx, tx, packets
  before_each(function ()
    pool.create()
    port, state = ffi.new("struct port"), ffi.new("struct spec_port")
    state.fd, state.rings = -1, 1 -- the kernel does nothing
    rx, tx = queue(state.receive[0]), queue(state.send)
    port.state, port.pool, port.account = state, pool.near(-1), pool.freelist
    packets = ffi.new("struct packet *[16]")
  end)

  -- The kernel receives: a frame, in as many slots as texts.
  local function arrive(...)
    local texts = {...}
    for i, text in ipairs(texts) do
      local slot = rx.ring.slot[rx.ring.tail]
      ffi.copy(rx.buffers + slot.buf_idx * BYTES, text, math.min(#text, BYTES))
      slot.len, slot.flags = #text, i < #texts and GOES_ON or 0
      rx.ring.tail = (rx.ring.tail + 1) % SLOTS
    end
  end

  local function received(n)
    local list, got = {}, C.pg_netmap_receive(port, packets, n or 16)
    pool.freelist.received = pool.freelist.received + got -- as the shim does
    for i = 0, got - 1 do
      list[i + 1] = ffi.string(packets[i].data, packets[i].length)
      packet.free(packets[i])
    end
    return list
  end

  -- The frames in the slots given to the kernel since `from`.
  local function sent(from)
    local list = {}
    while from ~= tx.ring.head do
      local slot = tx.ring.slot[from]
      list[#list + 1] = ffi.string(tx.buffers + slot.buf_idx * BYTES, slot.len)
      from = (from + 1) % SLOTS
    end
    return list
  end

  local function send(texts)
    for i, text in ipairs(texts) do packets[i - 1] = packet.from_string(text) end
    local done = C.pg_netmap_send(port, packets, #texts)
    pool.freelist.sent = pool.freelist.sent + done
    for i = done, #texts - 1 do packet.free(packets[i]) end
    return done
  end

  local function text(length, letter) return (letter or "x"):rep(length) end

  it("receives frames byte for byte, all around the ring", function ()
    for round = 1, 20 do
      local frames = {text(14 + round, "a"), text(60, "b"), text(BYTES, "c")}
      for _, frame in ipairs(frames) do arrive(frame) end
      assert.same(frames, received())
      assert.equal(rx.ring.tail, rx.ring.head)
      assert.equal(rx.ring.cur, rx.ring.head)
    end
    assert.equal(60, tonumber(state.counts.ipackets))
  end)

  it("receives no more than it is asked for", function ()
    for i = 1, 5 do arrive(text(60, tostring(i))) end
    assert.same({text(60, "1"), text(60, "2")}, received(2))
    assert.equal(2, rx.ring.head)
    assert.same({text(60, "3"), text(60, "4"), text(60, "5")}, received())
  end)

  it("puts a frame of several slots together, once it is there whole", function ()
    arrive(text(BYTES, "a"), text(BYTES, "b"), text(20, "c"))
    local whole = text(BYTES, "a") .. text(BYTES, "b") .. text(20, "c")
    rx.ring.tail = 2
    assert.same({}, received())
    assert.equal(0, rx.ring.head)
    rx.ring.tail = 3
    assert.same({whole}, received())
  end)

  it("drops a frame that has no end in the whole ring", function ()
    for _ = 1, SLOTS - 1 do arrive(text(60)) end
    for i = 0, SLOTS - 2 do rx.ring.slot[i].flags = GOES_ON end
    assert.same({}, received())
    assert.equal(rx.ring.tail, rx.ring.head)
    assert.equal(1, tonumber(state.counts.ierrors))
  end)

  it("drops what is longer than its buffer, or in none, or no frame", function ()
    arrive(text(60, "1"))
    arrive(text(BYTES + 1))
    arrive(text(60))
    arrive(text(13))
    arrive(text(60, "2"))
    rx.ring.slot[2].buf_idx = SLOTS
    assert.same({text(60, "1"), text(60, "2")}, received())
    assert.equal(3, tonumber(state.counts.ierrors))
  end)

  it("takes nothing where head or tail are out of the ring", function ()
    arrive(text(60))
    for _, field in ipairs {"tail", "head"} do
      local before = rx.ring[field]
      rx.ring[field] = SLOTS
      assert.same({}, received())
      rx.ring[field] = before
    end
    assert.same({text(60)}, received())
  end)

  it("sends as many as there is room for, all around the ring", function ()
    for _ = 1, 20 do
      local from = tx.ring.head
      tx.ring.tail = (from + 3) % SLOTS
      local frames = {text(60, "a"), text(BYTES, "b"), text(14, "c"), text(60, "d")}
      assert.equal(3, send(frames))
      assert.same({frames[1], frames[2], frames[3]}, sent(from))
    end
    assert.equal(60, tonumber(state.counts.opackets))
    assert.equal(20 * (60 + BYTES + 14), tonumber(state.counts.obytes))
  end)

  it("clears the flags of a slot that was another's fragment", function ()
    tx.ring.tail = SLOTS - 1
    tx.ring.slot[0].flags = GOES_ON
    send{text(60)}
    assert.equal(0, tx.ring.slot[0].flags)
  end)

  it("writes into no buffer that isn't there, nor past its end", function ()
    tx.ring.tail = SLOTS - 1
    tx.ring.slot[0].buf_idx = SLOTS
    assert.equal(2, send{text(60, "a"), text(60, "b")})
    assert.equal(2, tonumber(state.counts.oerrors))
    tx.ring.slot[0].buf_idx = SLOTS - 1
    assert.equal(2, send{text(BYTES + 1, "a"), text(60, "b")})
    assert.same({text(60, "b")}, sent(0))
    for i = 0, BYTES - 1 do assert.equal(GUARD, tx.buffers[SLOTS * BYTES + i]) end
  end)
end)
