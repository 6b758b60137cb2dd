-- SPDX-License-Identifier: Apache-2.0
-- Swap: exchanges the two MAC addresses of each packet. Written as apps for Snabb
-- are: a module whose functions are its globals.

module(..., package.seeall)

local ffi = require("ffi")

Swap = {}

function Swap:new()
   return setmetatable({address = ffi.new("uint8_t[6]")}, {__index = Swap})
end

function Swap:push()
   local input = assert(self.input.input, "Swap needs a link to its input")
   local output = assert(self.output.output, "Swap needs a link from its output")
   while not link.empty(input) do
      local p = link.receive(input)
      ffi.copy(self.address, p.data, 6)
      ffi.copy(p.data, p.data + 6, 6)
      ffi.copy(p.data + 6, self.address, 6)
      link.transmit(output, p)
   end
end
