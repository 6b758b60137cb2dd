-- SPDX-License-Identifier: Apache-2.0
-- Frames of wireless networks (IEEE 802.11-2020, section 9.3.2.1): WifiEncap makes them
-- of Ethernet frames, WifiDecap does the reverse. An LLC and SNAP header (RFC 1042)
-- says what is in them.

local bit = require("bit")
local ffi = require("ffi")
local element = require("click.element")
local front = require("click.net.front")
local note = require("click.note")
local shared = require("click.net.wifi_elements")
local wire = require("click.net.wire")

local band, barrier = bit.band, wire.barrier
local ETHER, HEADER, LLC, ADDRESS, QOS = 14, 24, 8, 6, 2 -- bytes
local FIRST, SECOND, THIRD = 4, 10, 16 -- offsets of the addresses
local DATA, QOS_DATA, KIND_AND_QOS = 0x08, 0x88, 0x8c -- of the first byte
local DIRECTION, BOTH, PROTECTED = 3, 3, 0x40 -- of the second byte
local SNAP = "\170\170\3\0\0\0"
local EXTRA, MAGIC, PAD_AT = note.WIFI_EXTRA, 0x7492001, 11 -- the annotation

-- WifiEncap ------------------------------------------------------------------------

local MODES = 4

local function check_mode(self)
  if self.mode >= MODES then return "mode must be 0, 1, 2 or 3" end
end

local function mode_handler()
  local handler = element.data("mode", "unsigned")
  local write = handler.write
  function handler.write(self, text)
    local before = self.mode
    local problem = write(self, text) or check_mode(self)
    if problem then self.mode = before end
    return problem
  end
  return handler
end

local WifiEncap = element.define{
  name = "WifiEncap", summary = "turns Ethernet frames into those of wireless networks",
  live = true,
  arguments = {
    {"MODE", "unsigned", required = true, max = MODES - 1},
    {"BSSID", "eth", default = ("\0"):rep(ADDRESS)},
    shared.DEBUG, shared.INFO,
  },
  drops = {"too short", "too long"}, reads = {}, lengthens = HEADER + LLC - ETHER,
  handlers = {debug = element.data("debug", "bool"), mode = mode_handler(),
    bssid = shared.eth("bssid")},
}

function WifiEncap:configure(a)
  self.mode, self.bssid, self.debug = a.MODE, a.BSSID, a.DEBUG
  self.info = a.WIRELESS_INFO
end

-- Which of {destination, source, BSSID} are the frame's addresses, by mode. (As in
-- Click, frames between access points have but three.)
local PLACES = {[0] = {1, 2, 3}, {3, 2, 1}, {1, 3, 2}, {1, 2, 3}}

local spare = ffi.new("uint8_t[3][6]")

function WifiEncap:process(p)
  if p.length < ETHER then return nil, 1 end
  local kind = ffi.cast("uint16_t *", p.data)[ADDRESS]
  ffi.copy(spare[0], p.data, 2 * ADDRESS)
  ffi.copy(spare[2], self.info and self.info.bssid or self.bssid, ADDRESS)
  if not front.cut(p, ETHER) or not front.open(p, HEADER + LLC) then return nil, 2 end
  local data, places = p.data, PLACES[self.mode]
  ffi.fill(data, HEADER)
  data[0], data[1] = DATA, self.mode
  ffi.copy(data + FIRST, spare[places[1] - 1], ADDRESS)
  ffi.copy(data + SECOND, spare[places[2] - 1], ADDRESS)
  ffi.copy(data + THIRD, spare[places[3] - 1], ADDRESS)
  ffi.copy(data + HEADER, SNAP, #SNAP)
  ffi.cast("uint16_t *", data + HEADER + #SNAP)[0] = kind
  barrier()
  return p
end

-- WifiDecap ------------------------------------------------------------------------

local WifiDecap = element.define{
  name = "WifiDecap", summary = "turns wireless networks' frames into Ethernet frames",
  live = true,
  arguments = {
    {"DEBUG", "bool", default = false, keyword = true},
    {"STRICT", "bool", default = false, keyword = true},
    {"ETHER", "bool", default = true, keyword = true},
  },
  drops = {"too short", "encrypted", "no SNAP header"}, reads = {{16, 24}},
  handlers = {debug = element.data("debug", "bool")},
}

function WifiDecap:configure(a)
  self.debug, self.strict, self.ether = a.DEBUG, a.STRICT, a.ETHER
end

-- Bytes of the frame's header.
local function header_of(p, direction)
  local size, extra = HEADER, p.note8 + EXTRA
  if direction == BOTH then size = size + ADDRESS end
  if band(p.data[0], KIND_AND_QOS) == QOS_DATA then size = size + QOS end
  if ffi.cast("uint32_t *", extra)[0] == MAGIC and extra[PAD_AT] ~= 0 then
    size = bit.lshift(bit.rshift(size + 3, 2), 2)
  end
  return size
end

-- Where destination, source and BSSID are, by direction.
local ADDRESSES = {
  [0] = {FIRST, SECOND, THIRD}, {THIRD, SECOND, FIRST}, {FIRST, THIRD, SECOND},
  {FIRST, SECOND, THIRD},
}

local function tell(self, direction, kind)
  self:remark("dir %d src %s dst %s bssid %s eth 0x%04x", direction,
    wire.eth_text(spare[1]), wire.eth_text(spare[0]), wire.eth_text(spare[2]),
    wire.swap16(kind))
end

function WifiDecap:process(p)
  local data, n = p.data, p.length
  if n < HEADER + LLC then return nil, 1 end
  local direction = band(data[1], DIRECTION)
  local size = header_of(p, direction)
  if n < size + LLC then return nil, 1 end
  if band(data[1], PROTECTED) ~= 0 then return nil, 2 end
  if self.strict and ffi.string(data + size, #SNAP) ~= SNAP then return nil, 3 end
  local kind, places = ffi.cast("uint16_t *", data + size + #SNAP)[0],
    ADDRESSES[direction]
  for i = 0, 2 do ffi.copy(spare[i], data + places[i + 1], ADDRESS) end
  if not front.cut(p, size + LLC) then return nil, 1 end
  if not self.ether or not front.open(p, ETHER) then return p end
  ffi.copy(p.data, spare[0], 2 * ADDRESS)
  ffi.cast("uint16_t *", p.data)[ADDRESS] = kind
  p.note16[note.MAC_HEADER] = p.data_off
  barrier()
  if self.debug then tell(self, direction, kind) end
  return p
end

return {WifiEncap, WifiDecap}
