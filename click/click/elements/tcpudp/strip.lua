-- SPDX-License-Identifier: Apache-2.0
-- StripTransportHeader: takes TCP, UDP and ICMP headers off, and what is before them.
-- UnstripTransportHeader is where UnstripIPHeader is.

local bit = require("bit")
local element = require("click.element")
local front = require("click.net.front")
local note = require("click.note")

local NETWORK, TRANSPORT = note.NETWORK_HEADER, note.TRANSPORT_HEADER
local PROTOCOL, TCP, UDP, ICMP = 9, 6, 17, 1
local MINIMAL, UDP_HEADER, ICMP_HEADER, TCP_OFFSET = 20, 8, 8, 12

local StripTransportHeader = element.define{
  name = "StripTransportHeader", aliases = {"StripTCPHeader", "StripUDPHeader"},
  division = "any",
  summary = "strips the TCP, UDP or ICMP header", drops = {"no such header"},
}

-- Bytes of the header behind the IP header at `at`; nil if there is none.
local function size_of(p, at, behind, limit)
  local protocol = p.buf_addr[at + PROTOCOL]
  if protocol == UDP then return UDP_HEADER end
  if protocol == ICMP then return ICMP_HEADER end
  if protocol == TCP and behind + MINIMAL <= limit then
    return bit.lshift(bit.rshift(p.buf_addr[behind + TCP_OFFSET], 4), 2)
  end
end

function StripTransportHeader.process(_, p)
  local at, behind, limit = p.note16[NETWORK], p.note16[TRANSPORT],
    p.data_off + p.length
  if at == 0 or behind < at + MINIMAL or behind > limit then return nil, 1 end
  local size = size_of(p, at, behind, limit)
  local n = size and behind + size - p.data_off or -1
  if n < 0 or not front.cut(p, n) then return nil, 1 end
  return p
end

return {StripTransportHeader}
