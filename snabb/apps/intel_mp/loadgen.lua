-- SPDX-License-Identifier: Apache-2.0
-- LoadGen sends the packets it is given again and again, as fast as the port takes
-- them. Snabb lets the card's descriptor ring turn; here copies go through a link that
-- belongs to the app.

local C = require("core.native")
local alias = require("apps.port.port").alias
local link = require("core.link")
local packet = require("core.packet")

local M = {}

local MOST_PACKETS = 4096  -- the number of descriptors in Snabb's ring

local LoadGen = alias {
  name = "LoadGen",
  port = function(address) return address end,
}
M.LoadGen = LoadGen

local new, report = LoadGen.new, LoadGen.report

--- Open the port at `address`, a PCI address or any port string.
function LoadGen:new(address, checked)
  local o = new(self, address, checked)
  o.packets, o.position = {}, 0
  o.ring_name = "loadgen " .. o.description.text:gsub("/", "_")
  o.ring = link.new(o.ring_name)
  return o
end

--- Keep what arrives, up to 4,096 packets; the rest is freed.
function LoadGen:push()
  local input, packets = self.sink, self.packets
  for _ = 1, link.nreadable(input) do
    local p = link.receive(input)
    if #packets < MOST_PACKETS then
      packets[#packets + 1] = p
    else
      packet.free(p)
    end
  end
end

local function fill(ring, packets, position)
  local count = #packets
  for _ = 1, link.nwritable(ring) do
    position = position < count and position + 1 or 1
    link.transmit(ring, packet.clone(packets[position]))
  end
  return position
end

--- Send a burst of copies. Nothing is received.
function LoadGen:pull()
  if #self.packets == 0 then return end
  self.position = fill(self.ring, self.packets, self.position)
  C.pg_transmit(self.port, self.ring)
end

--- It goes on for as long as the engine runs.
function LoadGen:ended() return false end

--- Print what was sent and received, under the names of the 82599's registers.
function LoadGen:report()
  report(self)
  local s = self:statistics()
  print(("  TXDGPC %.0f packets  GOTCL %.0f bytes"):format(s.opackets, s.obytes))
  print(("  RXDGPC %.0f packets  GORCL %.0f bytes"):format(s.ipackets, s.ibytes))
end

--- Free the packets and unplug the port.
function LoadGen:stop()
  for _, p in ipairs(self.packets) do packet.free(p) end
  self.packets = {}
  link.free(self.ring, self.ring_name)
  getmetatable(LoadGen).__index.stop(self)
end

return M
