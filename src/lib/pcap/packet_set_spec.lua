-- SPDX-License-Identifier: Apache-2.0
-- Sets of packets, and sending them by a port that takes a number of our choosing.

local ffi = require("ffi")
local C = require("core.native")
local link = require("core.link")
local packet = require("core.packet")
local packet_set = require("lib.pcap.packet_set")
local pool = require("core.pool")
local testing = require("testing.savefiles")
local stdlib = require("posix.stdlib")
local posix_stat = require("posix.sys.stat")

-- As in native/driver.h.
ffi.cdef[[
struct own_driver {
  const char *name;
  uint16_t (*receive)(struct port *port, struct packet **packets, uint16_t n);
  uint16_t (*send)(struct port *port, struct packet **packets, uint16_t n);
};
]]

local host = testing.order(ffi.abi("le") and "little" or "big")
local free = packet.free_internal -- of the engine; here drivers free by count

describe("lib.pcap.packet_set", function ()
  local path, sets

  before_each(function ()
    path, sets = os.tmpname(), {}
  end)
  after_each(function ()
    for _, kept in ipairs(sets) do kept:close() end
    os.remove(path)
  end)

  local function save(texts)
    local parts = {host:pcap_header()}
    for i, text in ipairs(texts) do parts[i + 1] = host:record(text) end
    testing.save(path, table.concat(parts))
  end

  local function load()
    local kept, why = packet_set.load(path)
    sets[#sets + 1] = kept
    return kept and kept.set, why
  end

  local function text_of(p)
    return ffi.string(p.buf_addr + p.data_off, p.length)
  end

  it("has the packets in their order, over and over", function ()
    local texts = {}
    for i, n in ipairs{1, 64, 65, 0, 357, 1514, 4097, 10240, 128, 129} do
      texts[i] = (string.char(96 + i)):rep(n)
    end
    save(texts)
    local set = load()
    assert.equal(10, set.n)
    assert.equal(0, set.slots % 10)
    assert.is_true(set.slots >= 256)
    assert.same({0, 10240}, {set.shortest, set.longest})
    for i = 0, set.slots + 127 do
      assert.equal(texts[i % 10 + 1], text_of(set.packets[i]))
    end
  end)

  it("takes none of the engine's packets", function ()
    pool.create()
    save{"a", "b"}
    local before = C.pg_pool_available()
    load()
    assert.equal(before, C.pg_pool_available())
  end)

  it("leaves to others what is better read packet by packet", function ()
    save{}
    assert.is_nil((load()))
    save{"a", ("x"):rep(packet.max_payload + 1)}
    assert.is_nil((load()))
    save{"a", "bcd"}
    testing.save(path, testing.load(path):sub(1, -2))
    assert.is_nil((load()))
    testing.save(path, "no savefile")
    assert.is_nil((load()))
    assert.is_nil((packet_set.load(path .. ".none")))
    local folder = stdlib.mkdtemp(path .. ".XXXXXX")
    assert.equal(0, posix_stat.mkfifo(folder .. "/pipe", 384))
    assert.is_nil((packet_set.load(folder .. "/pipe")))
    os.remove(folder .. "/pipe")
    os.remove(folder)
  end)

  it("says that there isn't memory for so many", function ()
    local counts = ffi.new("uint32_t[?]", C.PACKET_SET_CLASSES)
    pool.create()
    counts[8] = 2 ^ 30
    assert.is_true(C.pg_packet_set_bytes(counts) > 2 ^ 30 * 10240)
    assert.equal(nil, C.pg_packet_set_new(counts))
    assert.matches("no memory for 1073741824 more packets", ffi.string(C.pg_error()))
  end)

  describe("sends by a port", function ()
    local port, driver, callbacks, takes, sent, output, fl

    -- What drivers do: free by count.
    local function sends(_, packets, n)
      n = math.min(n, takes)
      takes = takes - n
      for i = 0, n - 1 do
        sent[#sent + 1] = text_of(packets[i])
        packets[i].refcnt = packets[i].refcnt - 1
      end
      return n
    end

    before_each(function ()
      pool.create()
      output = link.new("packet_set_test")
      driver = ffi.new("struct own_driver")
      callbacks = ffi.cast(
        "uint16_t (*)(struct port *, struct packet **, uint16_t)", sends)
      driver.send = callbacks
      fl = pool.freelist
      port = ffi.new("struct port", {min_frame = 2, max_frame = 100, account = fl})
      port.own, port.special = driver, 1
      sent, takes = {}, math.huge
    end)
    after_each(function ()
      link.free(output, "packet_set_test")
      callbacks:free()
    end)

    local function numbered(n)
      local texts = {}
      for i = 1, n do texts[i] = ("%02d"):format(i) end
      return texts
    end

    local function send(set, replay, n)
      return C.pg_packet_set_send(port, output, set, replay, n)
    end
    jit.off(send) -- its callback

    local function counters()
      return {sent = tonumber(fl.sent), allocated = tonumber(fl.refilled),
              drops = tonumber(fl.port_drops), bytes = tonumber(fl.sentbytes)}
    end

    local function since(before)
      local now = counters()
      for key, value in pairs(before) do now[key] = now[key] - value end
      return now
    end

    local function assert_own(set)
      for i = 0, set.n - 1 do assert.equal(1, set.packets[i].refcnt) end
    end

    it("as far as that takes them, and goes on there", function ()
      local texts, expected = numbered(70), {}
      save(texts)
      local set, replay = load(), ffi.new("struct replay")
      local before = counters()
      for round = 1, 40 do
        takes = round * 7 % 23
        local n = send(set, replay, 50)
        assert.equal(math.min(round * 7 % 23, 50), n)
      end
      for i = 1, #sent do expected[i] = texts[(i - 1) % 70 + 1] end
      assert.same(expected, sent)
      assert.equal(#sent, replay.packets)
      assert.same({sent = #sent, allocated = #sent, drops = 0, bytes = 2 * #sent},
        since(before))
      assert.equal(#sent, tonumber(port.txpackets))
      assert.equal(#sent, link.stats(output).rxpackets)
      assert.equal(2 * #sent, link.stats(output).rxbytes)
      assert_own(set)
    end)

    it("without those that are too short or too long for it, once each", function ()
      save{"aa", "b", ("c"):rep(101), "dd"}
      local set, replay = load(), ffi.new("struct replay")
      local before = counters()
      takes = 1
      assert.equal(3, send(set, replay, 100))
      takes = math.huge
      assert.equal(5, send(set, replay, 5))
      assert.same({"aa", "dd", "aa", "dd"}, sent)
      assert.same({sent = 4, allocated = 8, drops = 4, bytes = 8}, since(before))
      assert.same({2, 2}, {tonumber(port.tx_runt), tonumber(port.tx_oversize)})
      assert.equal(8 * 84 * 4, replay.bits)
      assert_own(set)
    end)

    it("after what waits in the link", function ()
      save{"aa", "bb"}
      local set, replay = load(), ffi.new("struct replay")
      link.transmit(output, packet.from_string("first"))
      takes = 0
      assert.equal(0, send(set, replay, 2))
      local p = output.packets[0]
      takes = math.huge
      assert.equal(2, send(set, replay, 2))
      assert.same({"first", "aa", "bb"}, sent)
      p.refcnt = 1 -- which the driver above has freed by count alone
      free(p)
      fl.refilled = fl.refilled + 1
    end)

    it("no more of one packet at once than can be counted", function ()
      save{"aa"}
      local set, replay = load(), ffi.new("struct replay")
      set.packets[0].refcnt = 0xf000
      assert.equal(0, send(set, replay, 1))
      assert.equal(0xf000, set.packets[0].refcnt)
      assert.same({}, sent)
      set.packets[0].refcnt = 1
    end)

    it("which may have packets when the set is freed", function ()
      save(numbered(3))
      local kept = packet_set.load(path)
      local p = ffi.cast("struct packet *", kept.set.packets[1])
      p.refcnt = 2 -- the driver's
      kept:close()
      assert.equal(1, p.refcnt)
      assert.equal("02", text_of(p))
      load() -- another lies elsewhere
      assert.equal("02", text_of(p))
    end)
  end)
end)
