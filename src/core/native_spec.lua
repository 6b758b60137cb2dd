-- SPDX-License-Identifier: Apache-2.0
-- The layouts that Lua sees, in literal offsets: those of DPDK 22.11's rte_mbuf
-- (rte_mbuf_core.h), and links that many share a cache set with none.

local ffi = require("ffi")
local C = require("core.native")

describe("core.native", function ()
  it("has the limits that Snabb's programs rely on", function ()
    assert.equal(10240, tonumber(C.PACKET_MAX_PAYLOAD))
    assert.equal(1024, tonumber(C.LINK_RING_SIZE))
    assert.equal(1023, tonumber(C.LINK_MAX_PACKETS))
  end)

  it("lays struct packet on rte_mbuf", function ()
    local offsets = {buf_addr = 0, buf_iova = 8, data_off = 16, refcnt = 18,
      nb_segs = 20, port = 22, ol_flags = 24, packet_type = 32, pkt_len = 36,
      length = 40, vlan_tci = 42, hash = 44, vlan_tci_outer = 52, buf_len = 54,
      pool = 56, next = 64, tx_offload = 72, shinfo = 80, priv_size = 88,
      timesync = 90, dynfield = 92}
    for field, offset in pairs(offsets) do
      assert.equal(offset, ffi.offsetof("struct packet", field), field)
    end
    assert.equal(128, ffi.offsetof("struct packet", "note8"))
    assert.equal(128 + 64, ffi.sizeof("struct packet"))
  end)

  it("has cursors of different size, which core.link counts on", function ()
    local l = ffi.new("struct link")
    l.read, l.write = -1, -1
    assert.equal("number", type(l.write))
    assert.equal("cdata", type(l.read))
  end)

  it("declares functions that are there", function ()
    for _, header in ipairs{"api", "kernels", "ports"} do
      local path = ("%s/src/native/%s.h"):format(require("core.main").root, header)
      local names = 0
      for line in io.lines(path) do
        local name = line:match("^[%w_ ]+[ *](pg_[%w_]+)%(")
        if name then
          assert.is_not_nil(C[name], name)
          names = names + 1
        end
      end
      assert.is_true(names >= 20, header)
    end
  end)

  it("tells the time, which goes on", function ()
    local t, tsc = C.pg_monotonic(), C.pg_tsc()
    C.pg_sleep(0.001)
    assert.is_true(C.pg_monotonic() - t >= 0.001)
    assert.is_true(C.pg_tsc() > tsc)
    assert.is_true(tonumber(C.pg_tsc_hz()) > 1e8)
  end)

  -- The counter and the clock at one moment: of many looks, the shortest.
  local function moment()
    local least, tsc, seconds = math.huge, nil, nil
    for _ = 1, 2000 do
      local before = C.pg_tsc()
      local now = C.pg_monotonic()
      local took = tonumber(C.pg_tsc() - before)
      if took < least then
        least, tsc, seconds = took, tonumber(before) + took / 2, now
      end
    end
    return tsc, seconds
  end

  it("knows the counter's rate better than DPDK, which rounds it to 10 MHz", function ()
    local tsc, seconds = moment()
    C.pg_sleep(0.3)
    local later, then_seconds = moment()
    local rate = (later - tsc) / (then_seconds - seconds)
    assert.is_true(math.abs(tonumber(C.pg_tsc_hz()) / rate - 1) < 1e-4)
  end)
end)
