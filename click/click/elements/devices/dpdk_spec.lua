-- SPDX-License-Identifier: Apache-2.0
local C = require("core.native")
local packet = require("core.packet")

local RX_RSS_HASH = 2 -- rte_mbuf_core.h, RTE_MBUF_F_RX_RSS_HASH

describe("the RSS hash of a packet", function ()
  it("is the card's, where it gives one", function ()
    local p = packet.from_string(("\2"):rep(12) .. "\8\0\69" .. ("\0"):rep(19))
    p.data[26], p.data[33] = 10, 1
    local computed = C.pg_flow_hash(p)
    assert.not_equal(0, computed)
    p.hash[0] = 0x89abcdef
    assert.equal(computed, C.pg_rss_hash(p))
    p.ol_flags = RX_RSS_HASH
    assert.equal(0x89abcdef, C.pg_rss_hash(p))
    packet.free(p)
  end)
end)
