-- SPDX-License-Identifier: Apache-2.0
-- Transmitter: packets to a Receiver in another process. While that has no room for
-- more they wait in the link.

local C = require("core.declare")("native/snabb.h")
local place = require("apps.interlink.place")
local pool = require("core.pool")

local BURST = C.PORT_BURST

local Transmitter = place.class("Transmitter", "transmitter")

local function send(r, input)
  repeat
    local n = C.pg_interlink_send(r, input, pool.freelist)
  until n < BURST
end

Transmitter.needs_packets = true

function Transmitter:push()
  local input = self.input.input
  if not (input and self.interlink) then return end
  send(self.interlink, input)
  if self.interlink.lie ~= 0 then place.leave_liar(self, "transmitter", "receiver") end
end

return Transmitter
