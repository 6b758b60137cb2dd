-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local dpdkc = require("moongen.devices.dpdkc")
local packet = require("core.packet")
local script_ffi = require("moongen.packets.script_ffi")

describe("dpdkc", function ()
  it("has what scripts call, in ffi.C, too", function ()
    for _, C in ipairs{dpdkc, script_ffi.C} do
      assert.is_true(C.rte_rdtsc() > 0)
      assert.equal("function", type(C.rte_eth_rx_burst_export))
      assert.error_matches(function () return C.nonesuch end, "nonesuch")
    end
  end)

  it("counts references to a buffer", function ()
    local p = packet.allocate()
    assert.equal(1, dpdkc.rte_mbuf_refcnt_read_export(p))
    assert.equal(3, dpdkc.rte_mbuf_refcnt_update_export(p, 2))
    assert.equal(1, dpdkc.rte_mbuf_refcnt_update_export(p, -2))
    packet.free(p)
  end)

  it("does nothing with devices that there aren't", function ()
    local bufs = ffi.new("struct packet *[1]")
    assert.equal(0, dpdkc.rte_eth_dev_count())
    for _, id in ipairs{0, 63, 64, 65535} do
      assert.equal(0, dpdkc.rte_eth_rx_burst_export(id, 0, bufs, 1))
      assert.equal(0, dpdkc.rte_eth_tx_burst_export(id, 0, bufs, 1))
      assert.equal(0, dpdkc.dpdk_send_all_packets(id, 0, bufs, 1))
      assert.equal(-19, dpdkc.rte_eth_xstats_get(id, nil, 0))
      assert.equal(-19, dpdkc.rte_eth_xstats_get_names(id, nil, 0))
    end
  end)
end)
