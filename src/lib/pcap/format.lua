-- SPDX-License-Identifier: Apache-2.0
-- The numbers and C structs of the two savefile formats, in host byte order.
-- Sources: draft-ietf-opsawg-pcap (pcap) and draft-ietf-opsawg-pcapng (pcapng).

local ffi = require("ffi")

ffi.cdef[[
struct savefile_header {
  uint32_t magic_number;
  uint16_t version_major, version_minor;
  int32_t thiszone;
  uint32_t sigfigs, snaplen, network;
};
struct savefile_record {
  uint32_t ts_sec, ts_usec, incl_len, orig_len;
};
struct pcapng_enhanced_packet {
  uint32_t type, total_length, interface, time_high, time_low, captured, original;
};
]]

local M = {}

--- The only link type that Perigee carries: LINKTYPE_ETHERNET.
M.LINKTYPE_ETHERNET = 1

--- No record holds more bytes than this (libpcap's MAXIMUM_SNAPLEN).
M.MAX_CAPTURED = 262144

--- A block that has to be held in memory is at most this long (libpcap's limit).
M.MAX_BLOCK = 16 * 1024 * 1024

-- pcap -----------------------------------------------------------------------

M.MAGIC_US = 0xa1b2c3d4
M.MAGIC_NS = 0xa1b23c4d

--- The header of a file; its fields have Snabb's names.
M.file_header_t = ffi.typeof("struct savefile_header")

--- The header of a record; its fields have Snabb's names.
M.record_t = ffi.typeof("struct savefile_record")

-- pcapng ---------------------------------------------------------------------

M.SECTION_HEADER = 0x0a0d0d0a
M.INTERFACE_DESCRIPTION = 1
M.OBSOLETE_PACKET = 2
M.SIMPLE_PACKET = 3
M.ENHANCED_PACKET = 6

M.BYTE_ORDER_MAGIC = 0x1a2b3c4d

M.OPTION_END = 0
M.IF_TSRESOL = 9
M.IF_TSOFFSET = 14

-- The fixed part at the start of the block.
M.enhanced_packet_t = ffi.typeof("struct pcapng_enhanced_packet")

--- The length that `n` bytes take in a block: padded to a multiple of four.
function M.padded(n)
  return n + (-n) % 4
end

return M
