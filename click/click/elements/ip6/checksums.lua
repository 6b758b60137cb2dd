-- SPDX-License-Identifier: Apache-2.0
-- SetTransportChecksumIP6: checksums of TCP, UDP and ICMPv6 over IPv6.

local bit = require("bit")
local C = require("core.declare")("net/checksum/checksum.h")
local element = require("click.element")
local ffi = require("ffi")
local note = require("click.note")
local wire = require("click.net.wire")

local NETWORK, TRANSPORT = note.NETWORK_HEADER, note.TRANSPORT_HEADER
local HEADER = 40
local LEAST = {[6] = 20, [17] = 8, [58] = 8} -- bytes of a header, by protocol

local SetTransportChecksumIP6 = element.define{
  name = "SetTransportChecksumIP6", division = "any", lengthens = 0,
  aliases = {"SetTCPChecksumIP6", "SetUDPChecksumIP6", "SetICMPChecksumIP6"},
  summary = "sets the checksums of TCP, UDP and ICMPv6 over IPv6",
  reads = {"NETWORK_HEADER", "TRANSPORT_HEADER", "IP6_NXT"},
  drops = {"no IPv6 transport header", "bad lengths"},
  notes = "Behind CheckIP6Header, which notes where the headers are (behind extensions "
    .. "with PROCESS_EH true). Other protocols pass as they are.",
  differs = "It says once that a header isn't noted. A UDP checksum that would be 0 is "
    .. "sent as 0xffff.",
}

function SetTransportChecksumIP6:process(p)
  local at, l4, kind = p.note16[NETWORK], p.note16[TRANSPORT], p.note8[note.IP6_NXT]
  local limit = p.data_off + p.length
  if at == 0 or kind == 0 or at + HEADER > limit or l4 < at + HEADER or l4 > limit then
    if not self.told then
      self:remark("needs the transport header and IP6_NXT annotation to be set, "
        .. "use CheckIP6Header")
    end
    self.told = true
    return nil, 1
  end
  local least = LEAST[kind]
  if not least then return p end
  local ip6 = p.buf_addr + at
  local payload = wire.swap16(ffi.cast("uint16_t *", ip6)[2])
  local size = bit.tobit(HEADER + payload - (l4 - at))
  if size < least or l4 + size > limit then return nil, 2 end
  C.pg_ip6_l4_set(ip6, p.buf_addr + l4, size, kind)
  wire.barrier()
  return p
end

return {SetTransportChecksumIP6}
