-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local SENDER, TARGET = "\2\0\0\0\0\1\10\0\0\1", "\2\0\0\0\0\2\10\0\0\2"

local function message(operation, target)
  return "\0\1\8\0\6\4\0" .. string.char(operation) .. SENDER .. (target or TARGET)
end

local function noted(text, offset)
  local p = packet.from_string(text)
  note.clear(p)
  p.note16[note.NETWORK_HEADER] = p.data_off + (offset or 0)
  note.set_time(p, 1.5)
  return p
end

describe("CheckARPHeader", function ()
  it("lets messages pass that hold their addresses", function ()
    local unit = click.unit("CheckARPHeader(2, VERBOSE true)")
    local p = unit:pass("xx" .. message(1))
    assert.equal(p.data_off + 2, p.note16[note.NETWORK_HEADER])
    assert.equal(p.data_off + 30, p.note16[note.TRANSPORT_HEADER])
    packet.free(p)
    local bad = {"", message(1):sub(1, 7), message(1):sub(1, 27),
      (message(1):gsub("\6", "\5", 1)), (message(1):gsub("\4", "\3", 1))}
    for _, text in ipairs(bad) do assert.same({}, unit:send("xx" .. text)) end
    assert.same({}, unit:send(""))
    assert.same({["tiny packet"] = 3, ["too small for addresses"] = 1,
      ["bad hardware type/length"] = 1, ["bad protocol type/length"] = 1}, unit.lost)
    assert.equal("e :: CheckARPHeader: ARP header check failed: tiny packet",
      unit.said[1])
    assert.same({"1", "6"}, {unit:read("count"), unit:read("drops")})
  end)
end)

describe("ARPPrint", function ()
  local function said(config, p)
    local unit = click.unit("ARPPrint(" .. config .. ")")
    assert.equal(1, #unit:send(p))
    unit:free()
    return unit.said[1]
  end

  it("says what messages are about", function ()
    assert.equal("a: 1.500000: arp who-has 10.0.0.2 tell 10.0.0.1",
      said("a", noted(message(1, ("\0"):rep(6) .. "\10\0\0\2"))))
    assert.equal("arp who-has 10.0.0.2 (02-00-00-00-00-02) tell 10.0.0.1",
      said("TIMESTAMP false", noted(message(1))))
    assert.equal("1.500000: arp reply 10.0.0.1 is-at 02-00-00-00-00-01",
      said("", noted(message(2))))
    assert.equal("1.500000: rarp who-is 02-00-00-00-00-02 tell 02-00-00-00-00-01",
      said("", noted(message(3))))
    assert.equal("1.500000: arp-#7", said("", noted(message(7))))
    assert.equal("1.500000: truncated-arp (7)", said("", noted(message(1):sub(1, 7))))
    assert.equal("1.500000: truncated-arp (27)", said("", noted(message(1):sub(1, 27))))
    assert.is_nil(said("", noted("\0\1\8\1" .. message(1):sub(5))))
    assert.is_nil(said("ACTIVE false", noted(message(1))))
  end)

  it("says who sent the frame", function ()
    local frame = ("\255"):rep(6) .. "\2\0\0\0\0\1\8\6" .. message(2)
    assert.equal("02-00-00-00-00-01 > FF-FF-FF-FF-FF-FF: "
      .. "arp reply 10.0.0.1 is-at 02-00-00-00-00-01",
      said("TIMESTAMP false, ETHER true", noted(frame, 14)))
  end)
end)
