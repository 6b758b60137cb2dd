-- SPDX-License-Identifier: Apache-2.0
local prefixes = require("net.route.prefix")

describe("net.route.prefix", function ()
  it("reads prefixes, with the bits behind them", function ()
    for text, expected in pairs{["192.0.2.0/24"] = {0xc0000200, 24},
      ["0.0.0.0/0"] = {0, 0}, ["255.255.255.255/32"] = {2 ^ 32 - 1, 32},
      ["10.1.2.3/8"] = {0x0a010203, 8}} do
      assert.same(expected, {prefixes.ip4(text)})
    end
  end)

  it("refuses everything else", function ()
    for _, text in ipairs{"", "/", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0/8",
      "256.0.0.0/8", "0010.0.0.0/8", "10.0.0.0/008", "10.0.0.0/-1", "10.0.0.0/8 ",
      " 10.0.0.0/8", "10.0.0.0/8\0", "10.0.0.0.0/8", "10..0.0/8", "::/0"} do
      assert.is_nil((prefixes.ip4(text)), text)
    end
  end)
end)
