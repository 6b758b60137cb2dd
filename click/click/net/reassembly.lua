-- SPDX-License-Identifier: Apache-2.0
-- An IPv4 datagram that is being put together from its fragments (RFC 791, section
-- 3.2), in a packet whose payload begins at a fixed place. What isn't there yet is
-- zeros. Fragments may overlap: the later one counts.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local note = require("click.note")
local packet = require("core.packet")

local Datagram = {}
Datagram.__index = Datagram

local PAYLOAD = tonumber(C.PACKET_MAX_HEADROOM) -- where it begins in the buffer
local MOST = packet.max_payload
local NETWORK, TRANSPORT, MAC =
  note.NETWORK_HEADER, note.TRANSPORT_HEADER, note.MAC_HEADER
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
    q = packet.allocate(), ranges = {}, reached = 0, longest = 0, before = PAYLOAD,
  }, Datagram)
  take_headers(self, p, true)
  return self
end

-- Add a range to those there are, {first, last} in order, and not touching each other.
local function add_range(ranges, first, last)
  local merged, i = {}, 1
  while ranges[i] and ranges[i][2] < first do
    merged[i] = ranges[i]
    i = i + 1
  end
  while ranges[i] and ranges[i][1] <= last do
    first, last = math.min(first, ranges[i][1]), math.max(last, ranges[i][2])
    i = i + 1
  end
  table.insert(merged, {first, last})
  for k = i, #ranges do table.insert(merged, ranges[k]) end
  return merged
end

--- Add the fragment `p`, whose payload belongs at `first` to `last`; `more` tells
--- whether others follow. False if it can't belong to it; and true then if it is only
--- that no packet is so long. The packet remains the caller's.
function Datagram:add(p, first, last, more)
  if self.total and (last > self.total or not more and last ~= self.total) then
    return false
  end
  if not more and last < self.reached then return false end
  local room = MOST - (PAYLOAD - self.before)
  if last > room then return false, true end
  local to = self.q.buf_addr + PAYLOAD
  if first > self.reached then ffi.fill(to + self.reached, first - self.reached) end
  ffi.copy(to + first, p.buf_addr + p.note16[TRANSPORT], last - first)
  self.reached = math.max(self.reached, last)
  self.longest =
    math.max(self.longest, last - first + p.note16[TRANSPORT] - p.note16[NETWORK])
  if not more then self.total = last end
  if first == 0 then take_headers(self, p, false) end
  self.ranges = add_range(self.ranges, first, last)
  return true
end

--- Is all of it there?
function Datagram:is_whole()
  local range = self.ranges[1]
  return self.total ~= nil and range ~= nil and range[1] == 0 and range[2] == self.total
end

--- The packet as it is now, which is the caller's from here on; nil if it would be too
--- long. `time` is its timestamp.
function Datagram:finish(time)
  local q = self.q
  q.data_off, q.length = self.before, 0
  local length = PAYLOAD - self.before + self.reached
  if length > MOST then
    packet.free(q)
    return nil
  end
  q.length = length
  local at = q.note16[NETWORK]
  local ip, header = q.buf_addr + at, PAYLOAD - at
  local total = header + self.reached
  ip[0] = bit.bor(0x40, header / 4)
  ip[2], ip[3] = bit.rshift(total, 8), bit.band(total, 0xff)
  ip[6], ip[7] = bit.band(ip[6], UNSHARED), 0
  ip[10], ip[11] = 0, 0
  ffi.cast("uint16_t *", ip + 10)[0] = C.pg_checksum_word(ip, header)
  q.note64[note.TIMESTAMP] = time
  return q
end

--- Give it up.
function Datagram:free() packet.free(self.q) end

return {new = new}
