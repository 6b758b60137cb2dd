-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local packet_bytes = require("testing.packet_bytes")

-- An IP header, of which only the protocol counts, and what is behind it.
local function noted(protocol, text)
  return packet_bytes.noted("\69" .. ("x"):rep(8) .. string.char(protocol)
    .. ("x"):rep(10) .. text, 20)
end

describe("StripTransportHeader", function ()
  it("takes headers off, and UnstripTransportHeader puts them back", function ()
    local strip, unstrip = click.unit("StripTransportHeader"),
      click.unit("UnstripTransportHeader")
    local udp = "8 bytes.data"
    assert.same({{1, "data"}}, strip:send(noted(17, udp)))
    assert.same({{1, "data"}}, strip:send(noted(1, udp)))
    local tcp = ("t"):rep(12) .. "\96" .. ("t"):rep(11) .. "data"
    local p = strip:pass(noted(6, tcp))
    assert.equal(4, p.length)
    assert.same({{1, tcp}}, unstrip:send(p))
    strip:free()
    unstrip:free()
  end)

  it("drops what has none", function ()
    local unit = click.unit("StripTCPHeader")
    assert.same({}, unit:send(noted(99, "whatever")))
    assert.same({}, unit:send(noted(17, "seven..")))
    assert.same({}, unit:send(noted(6, ("t"):rep(19))))
    assert.same({}, unit:send(noted(6, ("t"):rep(12) .. "\96" .. ("t"):rep(10))))
    assert.same({["no such header"] = 4}, unit.lost)
  end)
end)
