-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

-- How many packets are received from that device before these are sent, as the element
-- and the Port app say.
local function at_once(device, text)
  local r = assert(click.router(text))
  local element = r.devices.by_text[device].receivers[1]
  local port = r.devices.by_text[device]:argument(1)
  r:close()
  return element.at_once, port.burst
end

describe("click.devices.device", function ()
  it("has as many packets at once as the first cache holds", function ()
    assert.same({32}, {at_once("null", 'FromDPDKDevice("null") -> Discard')})
  end)

  it("has full bursts where the cache is filled anyway", function ()
    local nat = 'FromDPDKDevice("null") -> %s -> Discard'
    assert.is_nil((at_once("null", nat:format("IPRewriter(keep 0 0)"))))
  end)

  it("has as many as BURST says", function ()
    for burst, expected in pairs{[64] = 64, [1] = 4, [1000] = 256} do
      assert.same({expected}, {at_once("null",
        ('FromDPDKDevice("null", BURST %d) -> Discard'):format(burst))})
    end
  end)

  it("has a port receive so many if it would like full bursts", function ()
    local file = os.tmpname()
    local device = "pcap:tx=" .. file
    assert.same({8, 8}, {at_once(device,
      ('FromDPDKDevice("%s", BURST 8) -> Discard'):format(device))})
    assert.same({32}, {at_once(device,
      ('FromDPDKDevice("%s") -> Discard'):format(device))})
    os.remove(file)
  end)
end)
