-- SPDX-License-Identifier: Apache-2.0
local methods = require("moongen.measure.methods")
local packet = require("core.packet")

describe("moongen.measure.methods", function ()
  local buffer = {}
  methods.add({__txQueuePrototype = {}, __rxQueuePrototype = {},
               __devicePrototype = {}},
              buffer)

  it("let a buffer say its time to who names a device", function ()
    local p = packet.allocate()
    p.timestamp = 0
    assert.is_nil(buffer.getTimestamp(p, {}))
    assert.is_nil(buffer.getTimestamp(p))
    packet.free(p)
  end)
end)
