-- SPDX-License-Identifier: Apache-2.0
local blocks = require("lib.pcap.blocks")

describe("pcapng's blocks", function ()
  it("are found in what comes in pieces", function ()
    local bytes = blocks.section() .. blocks.interface("a link", 96)
    local kind, length = blocks.at(bytes, 1)
    assert.same({0x0a0d0d0a, 28}, {kind, length})
    assert.same({1, #bytes - 28}, {blocks.at(bytes, 29)})
    for n = 1, 27 do assert.is_nil(blocks.at(bytes:sub(1, n), 1)) end
    assert.has_error(function () blocks.at(("\1"):rep(20), 1) end)
  end)

  it("tell statistics", function ()
    local block = blocks.statistics(0, 1ULL, 7, 3, "why")
    assert.same({comment = "why", received = 7, dropped = 3},
      blocks.read_statistics(block))
    for n = 0, #block do assert.is_table(blocks.read_statistics(block:sub(1, n))) end
  end)
end)
