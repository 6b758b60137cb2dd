-- SPDX-License-Identifier: Apache-2.0
-- What a packet counts for, where packets or bytes are counted: one may stand for
-- several (the annotations EXTRA_PACKETS and EXTRA_LENGTH).

local note = require("click.note")

local amount = {}

local EXTRA_PACKETS, EXTRA_LENGTH, NETWORK = note.EXTRA_PACKETS, note.EXTRA_LENGTH,
  note.NETWORK_HEADER

--- Let the element count as its arguments BYTES, IP_BYTES, MULTIPACKET and EXTRA_LENGTH
--- say.
function amount.configure(self, a)
  self.bytes, self.ip_bytes = a.BYTES, a.IP_BYTES
  self.multipacket, self.extra_length = a.MULTIPACKET, a.EXTRA_LENGTH
end

--- What the packet counts for.
function amount.of(self, p)
  if not self.bytes then
    return 1 + (self.multipacket and p.note16[EXTRA_PACKETS] or 0)
  end
  local length = p.length + (self.extra_length and p.note32[EXTRA_LENGTH] or 0)
  if self.ip_bytes and p.note16[NETWORK] > 0 then
    length = length - (p.note16[NETWORK] - p.data_off)
  end
  return length
end

return amount
