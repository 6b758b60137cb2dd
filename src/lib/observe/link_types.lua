-- SPDX-License-Identifier: Apache-2.0
-- Says in a capture of links (pcapng, lib.control.capture) what its packets begin with:
-- LINKTYPE_ETHERNET or LINKTYPE_RAW, IPv4 or IPv6. Nobody knows before they come, so
-- interfaces are described when the first has come; one that has both kinds is
-- described twice. Source: draft-ietf-opsawg-pcapng, tcpdump.org/linktypes.

local ffi = require("ffi")
local first_header = require("lib.observe.first_header")
local format = require("lib.pcap.format")

local link_types = {}

local RAW = 101
local TYPE_AT = 8 -- in the description of an interface: u16
local MOST = 128  -- bytes of a packet that are looked at
local HEADER = ffi.sizeof(format.enhanced_packet_t)
local packet_ptr = ffi.typeof("struct pcapng_enhanced_packet *")

local Types = {}
Types.__index = Types

--- One for a capture.
function link_types.new()
  return setmetatable({section = "", described = {}, types = {}, other = {}}, Types)
end

-- The block's bytes, to be changed. (As its initializer the string would be copied with
-- its NUL, a byte beyond the array.)
local function bytes_of(block)
  local bytes = ffi.new("uint8_t[?]", #block)
  ffi.copy(bytes, block, #block)
  return bytes
end

local function described_as(block, kind)
  local bytes = bytes_of(block)
  ffi.cast("uint16_t *", bytes + TYPE_AT)[0] = kind
  return ffi.string(bytes, #block)
end

-- The section and its interfaces, with the type `kind`.
local function begin(self, kind)
  local texts = {self.section}
  for i, block in ipairs(self.described) do
    texts[i + 1], self.types[i] = described_as(block, kind), kind
  end
  self.begun = #self.described
  return table.concat(texts)
end

local function type_of(bytes, packet)
  local n = math.min(packet.captured, MOST)
  local name = first_header.of(ffi.string(bytes + HEADER, n), packet.original)
  return name == "eth" and format.LINKTYPE_ETHERNET or RAW
end

-- The packet, behind the descriptions that it needs.
local function take_packet(self, block)
  local bytes = bytes_of(block)
  local packet = ffi.cast(packet_ptr, bytes)
  local kind, i = type_of(bytes, packet), packet.interface + 1
  local before = self.begun and "" or begin(self, kind)
  if self.types[i] == kind then return before .. block end
  if not self.other[i] then
    before = before .. described_as(self.described[i], kind)
    self.other[i], self.begun = self.begun, self.begun + 1
  end
  packet.interface = self.other[i]
  return before .. ffi.string(bytes, #block)
end

--- What is to be written for the next whole block of this type, maybe nothing yet.
function Types:take(kind, block)
  if kind == format.ENHANCED_PACKET then return take_packet(self, block) end
  if not self.begun and kind == format.SECTION_HEADER then
    self.section = block
    return ""
  elseif not self.begun and kind == format.INTERFACE_DESCRIPTION then
    table.insert(self.described, block)
    return ""
  end
  return self:rest() .. block
end

--- What is left to be written at the end.
function Types:rest()
  return self.begun and "" or begin(self, format.LINKTYPE_ETHERNET)
end

return link_types
