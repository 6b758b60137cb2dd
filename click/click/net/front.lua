-- SPDX-License-Identifier: Apache-2.0
-- Moving a packet's first byte, with the annotations that say where its headers are,
-- and copies of packets with annotations and the bytes before the first.
--
-- As a rule nothing is moved but the packet's beginning. Where that can't be, because
-- there is no room before it or it would be further in than packets may begin, the
-- packet's bytes are moved, and headers' offsets with them.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.native")
local note = require("click.note")
local packet = require("core.packet")

local front = {}

local MAC, NETWORK, TRANSPORT =
  note.MAC_HEADER, note.NETWORK_HEADER, note.TRANSPORT_HEADER
local MOST, MAX_HEADROOM = packet.max_payload, tonumber(C.PACKET_MAX_HEADROOM)
local copy, min, tobit = ffi.copy, math.min, bit.tobit

-- Headers lie `by` bytes further in than they did; those that don't lie in the buffer
-- any more are forgotten.
local function move_header(p, header, by)
  local at = p.note16[header]
  if at ~= 0 then p.note16[header] = at + by > 0 and at + by or 0 end
end

local function move_headers(p, by)
  move_header(p, MAC, by)
  move_header(p, NETWORK, by)
  move_header(p, TRANSPORT, by)
end

local function open_by_moving(p, n)
  if p.length > MOST - n then return false end
  local before = p.data_off
  packet.shiftright(p, n)
  move_headers(p, p.data_off + n - before)
  return true
end

--- Open `n` bytes, contents as they were, before the first of the packet. False if the
--- packet would be too long.
function front.open(p, n)
  local at, length = p.data_off, p.length
  if at < n or length > MOST - n then return (open_by_moving(p, n)) end
  p.data_off = tobit(at - n)
  p.length = tobit(length + n)
  return true
end

local function cut_by_moving(p, n)
  if p.length < n then return false end
  local before = p.data_off
  packet.shiftleft(p, n)
  move_headers(p, p.data_off - n - before)
  return true
end

--- Cut off the first `n` bytes (0 or more). False if the packet hasn't as many.
function front.cut(p, n)
  local at, length = p.data_off, p.length
  if length < n or at > MAX_HEADROOM - n then return (cut_by_moving(p, n)) end
  p.data_off = tobit(at + n)
  p.length = tobit(length - n)
  return true
end

--- A copy with the same annotations, and the same headers before its first byte.
function front.clone(p)
  -- With flags it may have work for the device, which packet.clone() knows of.
  local q = p.no_flags == 0 and packet.allocate() or packet.clone(p)
  local at, n, m = p.data_off, p.note16, q.note64
  q.data_off = at
  q.length = p.length
  -- 0, for a header that isn't known, is the buffer's first byte.
  local first = min(at, n[MAC], n[NETWORK])
  copy(q.buf_addr + first, p.buf_addr + first, at - first + p.length)
  local from = p.note64
  m[0], m[1], m[2], m[3] = from[0], from[1], from[2], from[3]
  m[4], m[5], m[6], m[7] = from[4], from[5], from[6], from[7]
  return q
end

return front
