-- SPDX-License-Identifier: Apache-2.0
-- What is known of a packet once its headers have been looked through (struct metadata
-- in native/api.h), for apps behind the one that did.

local ffi = require("ffi")
local C = require("core.declare")("native/snabb.h")
local arguments = require("core.lib.arguments")
local packet = require("core.packet")

local metadata = {
  pkt_meta_data_t = ffi.typeof("struct metadata"),
  pkt_meta_data_ptr_t = ffi.typeof("struct metadata *"),
  ether_header_t = ffi.typeof[[struct {
    uint8_t dhost[6], shost[6];
    union {
      struct { uint16_t type; } ether;
      struct { uint16_t tpid, tci, type; } dot1q;
    };
  } __attribute__((packed))]],
}
metadata.ether_header_ptr_t = ffi.typeof("$ *", metadata.ether_header_t)

local pointer_t = metadata.pkt_meta_data_ptr_t
local packet_t = ffi.typeof("struct packet *")

local function no_packet(name, p) arguments.refuse(name, 1, p, "a packet", 4) end

local MAGIC = C.METADATA_MAGIC

--- The packet's metadata, which it must have.
function metadata.get(p)
  if not ffi.istype(packet_t, p) then no_packet("metadata.get", p) end
  local m = ffi.cast(pointer_t, p.buf_addr)
  assert(m.magic == MAGIC, "the packet has no metadata")
  return m
end
local get = metadata.get

local function have(m)
  assert(m ~= nil, "the packet has no room for metadata")
  return m
end

--- Make the packet's metadata, and return it. `remove_extension_headers`: those of
--- IPv6, from the packet; `vlan`: the number to take for that of the VLAN.
function metadata.add(p, remove_extension_headers, vlan)
  if not ffi.istype(packet_t, p) then no_packet("metadata.add", p) end
  return have(C.pg_metadata_add(p, remove_extension_headers or false, vlan or -1))
end

--- A copy of a packet that has metadata, with a copy of that.
function metadata.copy(p)
  get(p)
  local copied = packet.clone(p)
  have(C.pg_metadata_copy(copied, p))
  return copied
end

return metadata
