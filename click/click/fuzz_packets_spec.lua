-- SPDX-License-Identifier: Apache-2.0
-- Malformed packets. More of them: perigee run test/fuzz_click_packets.lua
local click_packets = require("testing.fuzz.click_packets")
local root = require("core.main").root
local testing = require("testing.support")

describe("Malformed packets #slow", function ()
  for _, name in ipairs{"router", "nat", "firewall"} do
    it(("are all accounted for: %s"):format(name), function ()
      for _, seed in ipairs{1, os.time()} do
        local result = click_packets.run{count = 5000, seed = seed,
          file = ("%s/examples/click/%s.click"):format(root, name)}
        assert.same({5000, 0}, {result.sent, result.held}, "seed " .. seed)
        assert.is_true(result.arrived > 100)
      end
    end)
  end

  it("are all accounted for where a rewriter looks ahead", function ()
    local IPRewriter = require("click.registry").find("IPRewriter")
    local outgrows, ahead = IPRewriter.outgrows_cache, IPRewriter.ahead
    local seen = 0
    function IPRewriter:outgrows_cache() return true end -- luacheck: no self
    function IPRewriter:ahead(packets, n)
      seen = seen + n
      ahead(self, packets, n)
    end
    local result = click_packets.run{count = 5000, seed = os.time(),
      file = root .. "/examples/click/nat.click"}
    IPRewriter.outgrows_cache, IPRewriter.ahead = outgrows, ahead
    assert.same({5000, 0}, {result.sent, result.held})
    assert.is_true(result.arrived > 100 and seen > result.arrived / 2)
  end)

  it("would be missed if they weren't", function ()
    local file = testing.temporary(
      "FromDPDKDevice(0) -> keeper :: Paint(1) -> ToDPDKDevice(0)")
    local Paint = require("click.registry").find("Paint")
    local process, make = Paint.process, rawget(Paint, "make_process")
    Paint.make_process, Paint.process = nil, function () return false end
    local result = click_packets.run{count = 100, seed = 1, file = file}
    Paint.make_process, Paint.process = make, process
    os.remove(file)
    assert.equal(100, result.held)
  end)
end)
