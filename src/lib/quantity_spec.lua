-- SPDX-License-Identifier: Apache-2.0
local quantity = require("lib.quantity")

local function same_all(f, texts)
  for text, value in pairs(texts) do assert.equal(value, f(text), text) end
end

local function refused(f, texts)
  for _, text in ipairs(texts) do
    local value, problem = f(text)
    assert.is_nil(value, text)
    assert.equal(1, problem:find("'" .. text .. "' isn't a ", 1, true))
  end
end

describe("quantities", function ()
  it("are counts", function ()
    same_all(quantity.count, {["0"] = 0, ["1500"] = 1500, ["10k"] = 1e4,
      ["1.5M"] = 1.5e6, ["2 G"] = 2e9, ["1e6"] = 1e6})
    refused(quantity.count, {"", "-1", "1.5", "0x10", "inf", "nan", "10 ks", "1e400",
      "1e-400"})
  end)

  it("are sizes", function ()
    same_all(quantity.bytes, {["64"] = 64, ["64k"] = 64000, ["2MiB"] = 2^21,
      ["1Gi"] = 2^30, ["1500B"] = 1500, ["9kB"] = 9000})
    refused(quantity.bytes, {"", "1.5", "64kb", "-1", "2MiBs"})
  end)

  it("are durations", function ()
    same_all(quantity.duration, {["10"] = 10, [".5"] = 0.5, ["500ms"] = 0.5,
      ["2m"] = 120, ["1h"] = 3600, ["0"] = 0, ["1min"] = 60})
    refused(quantity.duration, {"", "-1s", "1y", "s", "1e400", "1e-400"})
  end)

  it("are rates, of packets or of bits", function ()
    for text, wanted in pairs{["1.5Mpps"] = {1.5e6, "packets"},
        ["500kpps"] = {5e5, "packets"}, ["10Gbit/s"] = {1e10, "bits"},
        ["1mpps"] = {1e6, "packets"}, ["10gbps"] = {1e10, "bits"},
        ["10 Gbps"] = {1e10, "bits"}, ["100bit"] = {100, "bits"}} do
      assert.same(wanted, {quantity.rate(text)}, text)
    end
    refused(quantity.rate, {"", "0", "-1", "2M", "Mpps", "1Xpps", "10Gfoo", "1e999"})
    refused(quantity.rate, {"10GBps", "10gBps"}) -- of bytes
    assert.matches(": say 10Gpps or 10Gbit$", select(2, quantity.rate("10G")))
    assert.matches(": shares of a port's speed aren't taken$",
      select(2, quantity.rate("50%")))
  end)
end)
