-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local packet = require("core.packet")
local shift_in_place = require("core.shift_in_place")

local OLD = [[
-- Move packet data to the right.
function shiftright (p, bytes)
   C.memmove(p.data + bytes, p.data, p.length)
   p.length = p.length + bytes
end
]]
local NEW = [[
function shiftright (p, bytes)
   C.memmove(p.data + bytes, p.data, p.length)
   return p
end
]]

describe("Packets of Snabb before 2017", function ()
  local saved = {}
  before_each(function ()
    for _, name in ipairs{"shiftleft", "shiftright", "prepend"} do
      saved[name] = packet[name]
    end
    shift_in_place.begin()
  end)
  after_each(function ()
    for name, f in pairs(saved) do packet[name] = f end
  end)

  it("are those of a tree whose shiftright() returns nothing", function ()
    assert.is_true(shift_in_place.is_meant("\n" .. OLD))
    assert.is_false(shift_in_place.is_meant("\n" .. NEW))
    assert.is_false(shift_in_place.is_meant("error('Perigee has this module')"))
    assert.is_false(shift_in_place.is_meant(nil))
  end)

  it("stay where they are", function ()
    local p = packet.from_string("0123456789")
    local data = p.data
    packet.shiftright(p, 4)
    assert.equal(data, p.data)
    assert.equal("0123456789", ffi.string(data + 4, 10))
    packet.prepend(p, "ab", 2)
    assert.equal("ab", ffi.string(data, 2))
    assert.equal(16, p.length)
    packet.shiftleft(p, 6)
    assert.equal(data, p.data)
    assert.equal("0123456789", ffi.string(p.data, p.length))
    packet.free(p)
  end)

  it("refuse what they have no room for", function ()
    local p = packet.resize(packet.allocate(), packet.max_payload)
    assert.has_error(function () packet.shiftright(p, 1) end,
      "can't open 1 bytes of a packet of 10240")
    packet.resize(p, 3)
    assert.has_error(function () packet.shiftleft(p, 4) end,
      "can't drop 4 bytes of a packet of 3")
    assert.has_error(function () packet.shiftleft(p, -1) end)
    packet.free(p)
  end)
end)
