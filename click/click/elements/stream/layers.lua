-- SPDX-License-Identifier: Apache-2.0
-- Where paths of IP and UDP begin and end for elements that look at streams
-- (MiddleClick): IPIn, IPOut, UDPIn, UDPOut.

local bit = require("bit")
local ffi = require("ffi")

local C = require("core.declare")("net/checksum/checksum.h")
local element = require("click.element")
local note = require("click.note")

local band, lshift, rshift = bit.band, bit.lshift, bit.rshift
local NETWORK, TRANSPORT = note.NETWORK_HEADER, note.TRANSPORT_HEADER
local MINIMAL, PROTOCOL, UDP, UDP_HEADER = 20, 9, 17, 8

-- Where the IPv4 header is, and how long; nil if there is none.
local function find(p)
  local at = p.note16[NETWORK]
  if at == 0 then at = p.data_off end
  local limit = p.data_off + p.length
  if at + MINIMAL > limit then return nil end
  local ip = p.buf_addr + at
  local header = lshift(band(ip[0], 15), 2)
  if rshift(ip[0], 4) ~= 4 or header < MINIMAL or at + header > limit then
    return nil
  end
  return at, header
end

-- IPIn -------------------------------------------------------------------------------

local IPIn = element.define{
  name = "IPIn", summary = "begins a path of IP", processing = "a/ah",
  context = {{"ip"}}, reads = {"NETWORK_HEADER"}, lengthens = 0, division = "any",
  notes = "Notes where the headers of IPv4 packets are. One whose IP header isn't "
    .. "noted begins with it. Others pass.",
}

function IPIn.process(_, p)
  local at, header = find(p)
  if at then p.note16[NETWORK], p.note16[TRANSPORT] = at, at + header end
  return p
end

-- IPOut ------------------------------------------------------------------------------

local IPOut = element.define{
  name = "IPOut", summary = "ends a path of IP: sets the header's checksum",
  processing = "a/ah", drops = {"no IPv4 header"}, reads = {"NETWORK_HEADER"},
  lengthens = 0, division = "any",
  arguments = {
    {"READONLY", "bool", default = false},
    {"CHECKSUM", "bool", default = true, keyword = true},
  },
  notes = "With READONLY true or CHECKSUM false packets pass as they are. TCPOut, and "
    .. "what changes UDP's payload, have set the checksum by then.",
}

function IPOut:configure(a) self.sets = a.CHECKSUM and not a.READONLY end

function IPOut:process(p)
  if not self.sets then return p end
  local at, header = find(p)
  if not at then return nil, 1 end
  local ip = p.buf_addr + at
  ip[10], ip[11] = 0, 0
  ffi.cast("uint16_t *", ip)[5] = C.pg_checksum_word(ip, header)
  return p
end

-- UDPIn, UDPOut ----------------------------------------------------------------------

local UDPIn = element.define{
  name = "UDPIn", summary = "begins a path of UDP", processing = "a/ah",
  context = {{"udp"}}, drops = {"not UDP"}, reads = {"NETWORK_HEADER"}, lengthens = 0,
  division = "any",
  differs = "It drops what isn't UDP. Where a payload is changed, so are UDP's length "
    .. "and checksum.",
}

function UDPIn.process(_, p)
  local at, header = find(p)
  if not at or p.buf_addr[at + PROTOCOL] ~= UDP
    or at + header + UDP_HEADER > p.data_off + p.length then
    return nil, 1
  end
  return p
end

local UDPOut = element.define{
  name = "UDPOut", summary = "ends a path of UDP", processing = "h/h", reads = {},
  lengthens = 0, division = "any", notes = "It does nothing.",
}

function UDPOut:configure()
  self:warning("UDPOut is useless, you can remove it.")
end

function UDPOut.process(_, p) return p end

return {IPIn, IPOut, UDPIn, UDPOut}
