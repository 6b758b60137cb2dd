-- SPDX-License-Identifier: Apache-2.0
-- EraseIPPayload and TruncateIPPayload: what is behind the headers goes, so that
-- packets can be shown to others.

local bit = require("bit")
local element = require("click.element")
local ffi = require("ffi")
local ip_header = require("click.net.ip_header")
local note = require("click.note")
local wire = require("click.net.wire")

local lshift, rshift = bit.lshift, bit.rshift
local NETWORK, EXTRA_LENGTH = note.NETWORK_HEADER, note.EXTRA_LENGTH
local PROTOCOL, ICMP, TCP, UDP, MINIMAL = 9, 1, 6, 17, 20
local TCP_OFFSET, TCP_SUM, UDP_SUM, UDP_HEADER = 12, 16, 6, 8

-- Bytes of the TCP header behind `header` bytes of IP's; of a broken one, `otherwise`.
local function tcp_size(ip, header, available, otherwise)
  if header + TCP_OFFSET >= available then return otherwise end
  return lshift(rshift(ip[header + TCP_OFFSET], 4), 2)
end

-- EraseIPPayload ---------------------------------------------------------------------

local EraseIPPayload = element.define{
  name = "EraseIPPayload", summary = "erases the payload of TCP and UDP",
  division = "any", reads = {"NETWORK_HEADER"}, lengthens = 0,
  drops = {"no IPv4 header", "no TCP, UDP or ICMP"},
  notes = "Bytes behind TCP's or UDP's header become 0, and its checksum. ICMP passes "
    .. "as it is.",
}

function EraseIPPayload.process(_, p)
  local ip, header, available = ip_header.whole(p)
  if not ip then return nil, 1 end
  local protocol = ip[PROTOCOL]
  if protocol == ICMP then return p end
  if protocol ~= TCP and protocol ~= UDP then return nil, 2 end
  local size, sum = UDP_HEADER, UDP_SUM
  if protocol == TCP then
    size, sum = tcp_size(ip, header, available, MINIMAL), TCP_SUM
  end
  local behind = header + size
  if behind < available then ffi.fill(ip + behind, available - behind) end
  local at = header + sum
  if at + 2 <= available then ip[at], ip[at + 1] = 0, 0 end
  wire.barrier()
  return p
end

-- TruncateIPPayload ------------------------------------------------------------------

local TruncateIPPayload = element.define{
  name = "TruncateIPPayload", summary = "cuts packets' payload to a length",
  division = "any", reads = {"NETWORK_HEADER", "EXTRA_LENGTH"},
  arguments = {
    {"LENGTH", "unsigned", default = 0, max = 16383},
    {"TRANSPORT", "bool", default = true},
    {"EXTRA_LENGTH", "bool", default = true, keyword = true},
  },
  notes = "LENGTH bytes stay behind TCP's, UDP's or ICMP's header; with TRANSPORT "
    .. "false behind the IP header; of what isn't IP LENGTH bytes in all. The "
    .. "annotation of extra length says how many went, unless EXTRA_LENGTH is false.",
}

function TruncateIPPayload:configure(a)
  self.length, self.transport, self.notes = a.LENGTH, a.TRANSPORT, a.EXTRA_LENGTH
end

-- ICMP headers that are longer than 8 bytes: of timestamps and address masks.
local LONG_ICMP = {[13] = 20, [14] = 20, [17] = 12, [18] = 12}

-- How many bytes of headers the packet has from the IP header on.
local function headers_of(self, ip, available)
  local header = lshift(bit.band(ip[0], 15), 2)
  if header < MINIMAL then return MINIMAL end
  if not self.transport then return header end
  local protocol = ip[PROTOCOL]
  if protocol == TCP then
    local size = tcp_size(ip, header, available, MINIMAL)
    return header + math.max(size, MINIMAL)
  elseif protocol == UDP then
    return header + UDP_HEADER
  elseif protocol == ICMP and header + 8 <= available then
    return header + (LONG_ICMP[ip[header]] or 8)
  end
  return header
end

function TruncateIPPayload:process(p)
  local kept = self.length
  if p.note16[NETWORK] ~= 0 then
    local ip, available = ip_header.begin(p)
    if not ip then return p end
    kept = kept + p.length - available + headers_of(self, ip, available)
  end
  local rest = p.length - kept
  if rest > 0 then
    p.length = kept
    if self.notes then p.note32[EXTRA_LENGTH] = p.note32[EXTRA_LENGTH] + rest end
  end
  return p
end

return {EraseIPPayload, TruncateIPPayload}
