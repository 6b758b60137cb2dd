-- SPDX-License-Identifier: Apache-2.0
local packetChecks = {}

--- Does the packet say that it is IPv4?
function packetChecks.isIP4(pkt) return pkt.eth:getType() == 0x0800 end

--- Does it say that it is TCP over IPv4?
function packetChecks.isTcp4(pkt)
  return packetChecks.isIP4(pkt) and pkt.ip4:getProtocol() == 6
end

return packetChecks
