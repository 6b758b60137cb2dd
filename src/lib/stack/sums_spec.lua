-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local packet = require("core.packet")
local stack = require("lib.stack")

describe("lib.stack: checksums of a packet that ends before its headers do", function ()
  for _, name in ipairs{"udp", "tcp", "sctp", "icmp"} do
    it("are left as they are: " .. name, function ()
      local p = packet.allocate()
      ffi.fill(p.data, 100, 0x11)
      p.length = 36
      stack.createStack("eth", "ip4", name)(p):calculateChecksums()
      assert.equal(("\17"):rep(64), ffi.string(p.data + 34, 64))
      packet.free(p)
    end)
  end
end)
