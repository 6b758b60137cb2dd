-- SPDX-License-Identifier: Apache-2.0
-- An IPv4 datagram that is being put together from its fragments (net/fragment), in a
-- packet whose payload begins at a fixed offset. Fragments may overlap.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("net/fragment/fragment.h")
require("core.declare")("net/checksum/checksum.h")
local bytes = require("net.wire.bytes")
local note = require("click.note")
local packet = require("core.packet")

local Datagram = {}
Datagram.__index = Datagram

local PAYLOAD = tonumber(C.PACKET_MAX_HEADROOM) -- where it begins in the buffer
local MOST = packet.max_payload
local NETWORK, TRANSPORT, MAC =
  note.NETWORK_HEADER, note.TRANSPORT_HEADER, note.MAC_HEADER
-- Those that don't touch: 8 bytes each, and 8 between them.
local MOST_RANGES = math.ceil(MOST / 16) + 1
local state_t = ffi.typeof(
  "struct { struct datagram d; struct fragment_range ranges[$]; }", MOST_RANGES)
local spare = {} -- of those, each 2.6 KB
local UNSHARED = 0xc0 -- the flags that a whole datagram may have

-- Take the headers of the fragment, from its first byte (from the IP header on, if
-- `bare`) to its payload, and its annotations.
local function take_headers(self, p, bare)
  local q, behind = self.q, p.note16[TRANSPORT]
  local first = bare and p.note16[NETWORK] or math.min(p.data_off, p.note16[NETWORK])
  if behind - first > PAYLOAD then first = p.note16[NETWORK] end -- too much for q
  local size = behind - first
  ffi.copy(q.buf_addr + PAYLOAD - size, p.buf_addr + first, size)
  ffi.copy(q.note8, p.note8, 64)
  local by = PAYLOAD - behind
  q.note16[NETWORK], q.note16[TRANSPORT] = p.note16[NETWORK] + by, PAYLOAD
  local mac = p.note16[MAC] + by
  q.note16[MAC] = p.note16[MAC] ~= 0 and mac >= PAYLOAD - size and mac or 0
  self.before = PAYLOAD - size
end

--- A datagram of which `p` is a fragment.
local function new(p)
  local self = setmetatable({
    q = packet.allocate(), state = table.remove(spare) or state_t(), longest = 0,
    before = PAYLOAD,
  }, Datagram)
  local d = self.state.d
  d.present, d.reached, d.total, d.count = 0, 0, -1, 0
  d.most, d.overlaps = MOST_RANGES, true
  take_headers(self, p, true)
  return self
end

--- Add the fragment `p`, whose payload belongs at `first` to `last`; `more` tells
--- whether others follow. What C says: COMPLETE, PENDING; INVALID if it can't belong to
--- it, TOO_LONG if only no packet is so long. The packet remains the caller's.
function Datagram:add(p, first, last, more)
  local result = C.pg_datagram_add(self.state.d, self.q.buf_addr + PAYLOAD,
    p.buf_addr + p.note16[TRANSPORT], first, last - first, more,
    MOST - (PAYLOAD - self.before))
  if result > C.REASSEMBLY_COMPLETE then return result end
  self.longest =
    math.max(self.longest, last - first + p.note16[TRANSPORT] - p.note16[NETWORK])
  if first == 0 then take_headers(self, p, false) end
  return result
end

--- How far its payload reaches, in bytes.
function Datagram:reached() return self.state.d.reached end

--- The ranges of its payload that there are, as text.
function Datagram:ranges()
  local text = {}
  for i = 1, self.state.d.count do
    local range = self.state.ranges[i - 1]
    text[i] = (" (%d,%d)"):format(range.first, range.last)
  end
  return table.concat(text)
end

-- Another datagram may have its ranges.
local function close(self)
  spare[#spare + 1] = self.state
  self.state = nil
end

--- The packet as it is now, which is the caller's from here on; nil if it would be too
--- long. `time` is its timestamp.
function Datagram:finish(time)
  local q = self.q
  q.data_off, q.length = self.before, 0
  local reached = self:reached()
  close(self)
  local length = PAYLOAD - self.before + reached
  if length > MOST then
    packet.free(q)
    return nil
  end
  q.length = length
  local at = q.note16[NETWORK]
  local ip, header = q.buf_addr + at, PAYLOAD - at
  local total = header + reached
  ip[0] = bit.bor(0x40, header / 4)
  bytes.write16(ip + 2, total)
  ip[6], ip[7] = bit.band(ip[6], UNSHARED), 0
  ip[10], ip[11] = 0, 0
  ffi.cast("uint16_t *", ip + 10)[0] = C.pg_checksum_word(ip, header)
  q.note64[note.TIMESTAMP] = time
  return q
end

--- Give it up.
function Datagram:free()
  close(self)
  packet.free(self.q)
end

return {new = new}
