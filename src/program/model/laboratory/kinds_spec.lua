-- SPDX-License-Identifier: Apache-2.0
-- What `perigee model` can measure, by name.

local kinds = require("program.model.laboratory.kinds")

describe("what is measured", function ()
  it("is a kind of port, in one way or another", function ()
    assert.equal("null:size=%d", kinds.find("null").receive)
    assert.equal("netmap:pgm{1", kinds.find("netmap").receive)
    assert.equal("netmap:pgm0", kinds.find("netmap-veth").receive)
    assert.is_nil(kinds.find("netmap-token"))
  end)

  it("is a card, or two with a cable between them", function ()
    assert.same({name = "01:00.0", receive = "01:00.0"}, kinds.find("01:00.0"))
    local pair = kinds.find("0000:01:00.0=02:00.0")
    assert.equal("0000:01:00.0", pair.receive)
    assert.equal("02:00.0", pair.send)
    assert.truthy(pair.round > 0)
    assert.is_nil(kinds.find("01:00.0="))
    assert.is_nil(kinds.find("01:00.0=02:00.0=03:00.0"))
    assert.is_nil(kinds.find("01:00.0=eth0"))
  end)
end)
