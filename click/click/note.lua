-- SPDX-License-Identifier: Apache-2.0
-- A packet's annotations: 64 bytes, as p.note8, p.note16, p.note32 and
-- p.note64. The first 16 are the engine's own kinds (offsets of headers, the packet's
-- type, its time), the other 48 are numbered as in Click, whose elements take such
-- numbers as arguments.

local ffi = require("ffi")

local packet = require("core.packet")

local note = {}

local allocate, copy, min, tobit = packet.allocate, ffi.copy, math.min, bit.tobit

-- Each name below says which of the four arrays its number is an index into.

--- note16: offsets of headers from p.buf_addr; 0 is "not set".
note.MAC_HEADER, note.NETWORK_HEADER, note.TRANSPORT_HEADER = 0, 1, 2

--- note8: to whom the packet was sent, one of the following numbers.
note.PACKET_TYPE = 6
note.HOST, note.BROADCAST, note.MULTICAST, note.OTHERHOST = 0, 1, 2, 3
note.OUTGOING, note.LOOPBACK = 4, 5

--- note8: of which thread it is (click.threads.packet_thread).
note.THREAD = 7

--- note64: when it came, nanoseconds since 1970.
note.TIMESTAMP = 1

--- note8: byte 0 of the 48 that are numbered as in Click. BYTES of them.
note.FIRST, note.BYTES = 16, 48

-- Name of the annotation: Click's offset, and bytes.
local NAMED = {
  DST_IP = {0, 4}, DST_IP6 = {0, 16}, PAINT2 = {16, 2}, ICMP_PARAMPROB = {16, 1},
  IP6_NXT = {16, 1}, WIFI_EXTRA = {16, 24}, PAINT = {17, 1}, HTTP_PART = {18, 1},
  FIX_IP_SRC = {19, 1}, VLAN_TCI = {20, 2},
  AGGREGATE = {20, 4}, FWD_RATE = {20, 4}, MISC_IP = {20, 4},
  REV_RATE = {24, 4}, EXTRA_PACKETS = {26, 2}, SEND_ERR = {26, 1},
  GRID_ROUTE_CB = {27, 1}, IPREASSEMBLER = {28, 4}, EXTRA_LENGTH = {28, 4},
  FIRST_TIMESTAMP = {32, 8}, PACKET_NUMBER = {32, 4}, FLOW_ID = {32, 4},
  IPSEC_SPI = {32, 4}, SEQUENCE_NUMBER = {36, 4}, PERFCTR = {40, 8},
  IPSEC_SA_DATA_REFERENCE = {40, 8},
}

-- As index into the array of its size: note.PAINT is one into note8, note.DST_IP one
-- into note32, note.VLAN_TCI into note16; of more than 8 bytes, into note8.
for name, place in pairs(NAMED) do
  local offset, size = place[1], place[2]
  note[name] = (note.FIRST + offset) / (size <= 8 and size or 1)
end

--- The annotation of that name: its offset as Click numbers it, and its bytes; or nil.
function note.find(name)
  local place = NAMED[name]
  if place then return place[1], place[2] end
end

--- Forget all that is noted of the packet.
function note.clear(p)
  local n = p.note64
  n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7] = 0, 0, 0, 0, 0, 0, 0, 0
end

--- Note the same of packet `to` as of `from`.
function note.copy(to, from)
  local a, b = to.note64, from.note64
  a[0], a[1], a[2], a[3] = b[0], b[1], b[2], b[3]
  a[4], a[5], a[6], a[7] = b[4], b[5], b[6], b[7]
end

local START = 128 -- where ports' packets begin in their memory, at least

--- A copy of the packet, with all that is noted of it, and with what lies before its
--- first byte, which may have been stripped. `copier`, in the place of note.copy, notes
--- the same as far as somebody looks at it.
function note.clone(p, copier)
  local q, at, length = allocate(), p.data_off, p.length
  local first = min(at, START)
  copy(q.buf_addr + first, p.buf_addr + first, tobit(at - first + length))
  q.data_off, q.length = at, length
  if copier then copier(q, p) else note.copy(q, p) end
  return q
end

-- Times --------------------------------------------------------------------

local NANOSECONDS = 1000000000LL -- a second
local int64 = ffi.typeof("int64_t")

--- The time that `text` says ("-1.25", "5"), in nanoseconds, an int64_t; or nil.
function note.parse_time(text)
  local sign, seconds, fraction = text:match("^%s*([+-]?)(%d+)%.?(%d*)%s*$")
  if not seconds then
    sign, fraction = text:match("^%s*([+-]?)%.(%d+)%s*$")
    seconds = "0"
  end
  if not fraction then return nil end
  local rest = tonumber((fraction .. "000000000"):sub(1, 9))
  local time = int64(tonumber(seconds)) * NANOSECONDS + rest
  return sign == "-" and -time or time
end

--- A time in nanoseconds as text: "5.250000", with nine digits if six don't do.
function note.time_text(time)
  time = int64(time)
  local sign = time < 0 and "-" or ""
  if time < 0 then time = -time end
  local seconds, rest = tonumber(time / NANOSECONDS), tonumber(time % NANOSECONDS)
  if rest % 1000 == 0 then return ("%s%d.%06d"):format(sign, seconds, rest / 1000) end
  return ("%s%d.%09d"):format(sign, seconds, rest)
end

--- Note that the packet's time is `seconds` since 1970 (a double: to 0.2 µs or so).
function note.set_time(p, seconds)
  p.note64[note.TIMESTAMP] = ffi.cast("int64_t", seconds * 1e9)
end

--- The packet's time in seconds since 1970; 0 if none is noted.
function note.time(p) return tonumber(p.note64[note.TIMESTAMP]) / 1e9 end

return note
