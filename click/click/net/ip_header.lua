-- SPDX-License-Identifier: Apache-2.0
-- The IPv4 header where a packet's annotation says, for elements behind
-- CheckIPHeader: as far as the packet has it, whatever the annotation says.

local bit = require("bit")
local note = require("click.note")

local band, lshift = bit.band, bit.lshift
local NETWORK = note.NETWORK_HEADER
local MINIMAL = 20 -- bytes

local ip_header = {}

--- A pointer to at least 20 bytes of header, and the bytes from it on to the packet's
--- end; or nil.
function ip_header.begin(p)
  local at, limit = p.note16[NETWORK], p.data_off + p.length
  if at == 0 or at + MINIMAL > limit then return nil end
  return p.buf_addr + at, limit - at
end

--- A pointer to the header, its length with options, and the bytes from it on to the
--- packet's end; or nil where the packet lacks some of the header.
function ip_header.whole(p)
  local at, limit = p.note16[NETWORK], p.data_off + p.length
  if at == 0 or at + MINIMAL > limit then return nil end
  local ip = p.buf_addr + at
  local header = lshift(band(ip[0], 15), 2)
  if header < MINIMAL or at + header > limit then return nil end
  return ip, header, limit - at
end

return ip_header
