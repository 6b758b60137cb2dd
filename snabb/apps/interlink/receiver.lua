-- SPDX-License-Identifier: Apache-2.0
-- Receiver: packets from a Transmitter in another process.

local C = require("core.declare")("native/snabb.h")
local engine = require("core.app")
local link = require("core.link")
local place = require("apps.interlink.place")
local pool = require("core.pool")

local Receiver = place.class("Receiver", "receiver")

function Receiver:pull()
  local output = self.output.output
  if not (output and self.interlink) then return end -- what comes waits in the queue
  local freelist = pool.freelist
  local n = math.min(link.nwritable(output), engine.pull_npackets)
  if freelist.nfree < n and C.pg_freelist_refill(freelist, C.FREELIST_SIZE / 4) == 0
     and freelist.nfree == 0 then
    pool.refill()
  end
  C.pg_interlink_receive(self.interlink, output, freelist, n)
  if self.interlink.lie ~= 0 then place.leave_liar(self, "receiver", "transmitter") end
end

return Receiver
