-- SPDX-License-Identifier: Apache-2.0
-- Rates as they are written, and what a frame takes on the wire.

local rate = require("lib.traffic.rate")

describe("lib.traffic.rate", function()
  it("understands packets and bits a second", function()
    for text, value in pairs{["7pps"] = 7, ["1.5Mpps"] = 1.5e6, ["100 kpps"] = 1e5,
                             ["2Gpps"] = 2e9, [".5kpps"] = 500} do
      assert.are.same({packets = value}, rate.parse(text))
    end
    for text, value in pairs{["10Gbit"] = 1e10, ["100Mbit/s"] = 1e8, ["1 Gbps"] = 1e9,
                             ["9600bit"] = 9600, ["2kb/s"] = 2000} do
      assert.are.same({bits = value}, rate.parse(text))
    end
  end)

  it("refuses what is no rate", function()
    for _, text in ipairs{"", "Mpps", "1.5Mps", "-1kpps", "0pps", "1Tbit",
                          "1Mpps x", "1..5Mpps", "10GBit"} do
      local value, problem = rate.parse(text)
      assert.is_nil(value)
      assert.are.equal(("'%s' isn't a rate such as 500kpps, 1.5Mpps, 100Mbit or 10Gbit")
                       :format(text), problem)
    end
  end)

  it("counts what is around a frame on the wire", function()
    -- 10 Gbit/s carries 14,880,952 shortest frames a second.
    assert.are.equal(14880952, math.floor(1e10 / rate.wire_bits(60)))
    assert.are.equal(rate.wire_bits(60), rate.wire_bits(14))
    assert.are.equal(8 * 1538, rate.wire_bits(1514))
  end)

  it("says rates", function()
    assert.are.equal("1.500 Mpps", rate.text{packets = 1.5e6})
    assert.are.equal("10.000 Gbit/s on the wire", rate.text{bits = 1e10})
    assert.are.equal("as fast as it goes", rate.text(nil))
  end)
end)
