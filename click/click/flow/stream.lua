-- SPDX-License-Identifier: Apache-2.0
-- What elements between TCPIn and TCPOut have in common: which connection a packet is
-- of, its payload and changes to it. They are noted for the stream, so that numbers
-- follow, and what is sent again is changed as before (net.stream). UDP's datagrams are
-- changed alone.

local bit = require("bit")
local ffi = require("ffi")

local C = require("core.declare")("net/stream/stream.h")
local checksum = require("core.declare")("net/checksum/checksum.h")
local note = require("click.note")
local packet = require("core.packet")
local bytes = require("net.wire.bytes")
local tcp_flag = require("net.wire.tcp_flag")

local stream = {}

local band, lshift, rshift, tobit = bit.band, bit.lshift, bit.rshift, bit.tobit
local read16, write16 = bytes.read16, bytes.write16
local NETWORK = note.NETWORK_HEADER
local IP_HEADER, TCP_HEADER, UDP_HEADER, TCP, UDP = 20, 20, 8, 6, 17
local ACK_TTL, DONT_FRAGMENT = 255, 0x40
local MOST = packet.max_payload

--- TCP's flags.
stream.FIN, stream.SYN, stream.RST, stream.PUSH, stream.ACK =
  tcp_flag.FIN, tcp_flag.SYN, tcp_flag.RST, tcp_flag.PSH, tcp_flag.ACK

--- What a direction of a connection has, zeros at first: the number that TCPIn waits
--- for (`next`), up to which TCPOut has sent (`sent`), the first one; `acked`: what the
--- receiver has acknowledged, as it says it; the number of the other direction in its
--- TCPIn's table, 0 if there is none yet.
stream.direction = ffi.typeof([[struct {
  uint32_t next, sent, first, acked, peer;
  uint16_t mss, announced, window;
  uint8_t open, fin, closed, heard;
  struct stream_changes changes;
  struct stream_queue queue;
}]])

--- The nearest elements of that class (a name) behind `e`, or in front of it if
--- `is_output` is false.
function stream.nearest(e, is_output, class)
  return e.router:nearest(e, is_output, function (other)
    return other.class.name == class
  end)
end

--- The elements behind `e` that may keep packets, up to `last`: those with a method
--- let_go(number, p).
function stream.keepers(e, last)
  local list = {}
  e.router:nearest(e, true, function (other)
    if other.class.let_go then list[#list + 1] = other end
    return other == last
  end)
  return list
end

--- The TCPIn in front of `e`, or nil: its packets aren't TCP's. It is an error, and
--- false, if there are several.
function stream.source(e)
  local list = stream.nearest(e, false, "TCPIn")
  if #list > 1 then
    e:error("several TCPIn are in front of it: %s and %s", list[1].name, list[2].name)
    return false
  end
  return list[1]
end

--- A buffer for stream.look().
stream.segment = ffi.typeof("struct stream_segment")

--- Where the IP header is, from the packet's first byte; -1 if that is behind it.
local function header_at(p)
  local at = p.note16[NETWORK]
  return at == 0 and 0 or tobit(at - p.data_off)
end
stream.header_at = header_at

--- Look for a TCP segment. False if there is none.
function stream.look(p, segment)
  local at = header_at(p)
  return at >= 0 and C.pg_stream_look(p, at, segment)
end

-- The same for one of no connection: whole, and without a frame's padding.
local function look_alone(p, s)
  if not stream.look(p, s) or s.now < s.length then return false end
  p.length, s.now = s.payload + s.length, s.length
  return true
end

-- The same for a UDP datagram, as a segment.
local function look_udp(p, s)
  local at = header_at(p)
  if at < 0 or at + IP_HEADER + UDP_HEADER > p.length then return false end
  local ip = p.data + at
  local header, total = lshift(band(ip[0], 15), 2), read16(ip + 2)
  if rshift(ip[0], 4) ~= 4 or header < IP_HEADER or ip[9] ~= UDP
    or band(read16(ip + 6), 0x3fff) ~= 0 or header + UDP_HEADER > total
    or at + total > p.length then
    return false
  end
  s.seq, s.ack, s.flags = 0, 0, 0
  s.ip, s.tcp, s.payload = at, at + header, at + header + UDP_HEADER
  s.length = total - header - UDP_HEADER
  s.now = s.length
  p.length = at + total
  return true
end

--- A packet of IPv4 and TCP that acknowledges, and has no data. What it still lacks:
--- addresses, ports, numbers, annotations and checksums. Also its two headers.
function stream.new_ack(window)
  local p = packet.allocate()
  p.length = IP_HEADER + TCP_HEADER
  ffi.fill(p.data, p.length)
  local ip, tcp = p.data, p.data + IP_HEADER
  ip[0], ip[3], ip[6], ip[8], ip[9] = 0x45, p.length, DONT_FRAGMENT, ACK_TTL, TCP
  tcp[12], tcp[13] = 0x50, stream.ACK
  write16(tcp + 14, window)
  return p, ip, tcp
end

--- Note where the headers of such a packet are.
function stream.note_headers(p)
  p.note16[NETWORK] = p.data_off
  p.note16[note.TRANSPORT_HEADER] = p.data_off + IP_HEADER
end

--- A function of a packet and a segment to be filled in: is there payload of TCP
--- (`tcp`), or of TCP and UDP? If so segment.payload is where it begins, and
--- segment.now how long it is.
function stream.looker(tcp)
  local look = stream.look
  if tcp then return look end
  return function (p, segment)
    return look_alone(p, segment) or look_udp(p, segment)
  end
end

--- Set the lengths and checksums of a UDP datagram whose payload was changed.
local function write_udp(p, s)
  local ip, udp = p.data + s.ip, p.data + s.tcp
  local total, size = p.length - s.ip, p.length - s.tcp
  write16(ip + 2, total)
  write16(udp + 4, size)
  ip[10], ip[11] = 0, 0
  local sum = checksum.pg_checksum_word(ip, s.tcp - s.ip)
  ffi.cast("uint16_t *", ip)[5] = sum
  if udp[6] ~= 0 or udp[7] ~= 0 then checksum.pg_ip4_l4_set(ip, udp, size, UDP) end
  p.no_flags = 0
end

-- Write what was changed of a packet that is of no connection.
local function write(p, s)
  if s.payload - s.tcp == UDP_HEADER then return write_udp(p, s) end
  C.pg_stream_write(p, s, s.seq, s.ack)
end

--- Put the bytes `text` (a string, or `n` bytes from a pointer on) in the place of
--- `old` ones, 1 or more, from `at` on in the payload. `changes` are those of the
--- direction; nil for UDP, and for TCP of no connection, which keeps its length. Nil,
--- or what is wrong: "no room" in the packet, "too many changes" that aren't
--- acknowledged, "no connection".
function stream.edit(changes, p, s, at, old, text, n)
  n = n or #text
  if changes == nil and n ~= old and s.payload - s.tcp ~= UDP_HEADER then
    return "no connection"
  end
  local result = C.pg_stream_edit(changes, p, s, at, old, text, n, MOST - s.payload)
  if result == C.STREAM_EDITED then
    s.now = p.length - s.payload
    if changes == nil then write(p, s) end
    return nil
  end
  return result == C.STREAM_NO_ROOM and "no room" or "too many changes"
end

return stream
