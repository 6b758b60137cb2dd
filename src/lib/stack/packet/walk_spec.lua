-- SPDX-License-Identifier: Apache-2.0
-- What follows what, in packets whose lengths say less or more than there is.

local ffi = require("ffi")
local packet = require("core.packet")
local stack = require("lib.stack")

describe("resolving a padded frame", function()
  local p
  before_each(function()
    p = packet.allocate()
    p.length = 0
  end)
  after_each(function() packet.free(p) end)

  -- The names and sizes of the variable members found once it has 60 bytes.
  local function found(args, ...)
    stack.createStack(...)(p):fill(args)
    ffi.fill(p.data + p.length, 60 - p.length, 1)
    p.length = 60
    local words = {}
    for i, item in ipairs(stack.resolve(p).shape.items) do
      words[i] = item.protocol.name .. (item.layout.variable and item.variable or "")
    end
    return table.concat(words, " ")
  end

  it("leaves the padding out of a body that has the rest", function()
    assert.equal("eth ip40 udp dns0", found({}, "eth", "ip4", "udp", "dns"))
  end)

  it("finds no header in the padding", function()
    assert.equal("eth ip40", found({ip4Protocol = 17}, "eth", "ip4"))
    assert.equal("eth ip6", found({ip6NextHeader = 58, ip6Length = 0}, "eth", "ip6"))
    assert.equal("eth ip40 udp", found({udpDst = 319}, "eth", "ip4", "udp"))
  end)

  it("goes by the bytes there are where a length is too small or too large", function()
    assert.equal("eth ip40 udp", found({ip4Length = 0}, "eth", "ip4", "udp"))
    assert.equal("eth ip40 udp", found({ip4Length = 5000}, "eth", "ip4", "udp"))
    assert.equal("eth ip40 udp dns6", found({ip4Length = 0, udpLength = 7},
      "eth", "ip4", "udp", "dns"))
  end)
end)
