-- SPDX-License-Identifier: Apache-2.0
-- Reads the packets of a pcapng file: sections of either byte order, interfaces
-- with their own time units, enhanced, simple and obsolete packet blocks. Blocks
-- of other types are skipped. A block's length is checked before its contents.

local ffi = require("ffi")
local bit = require("bit")
local failure = require("core.failure")
local format = require("lib.pcap.format")
local clock = require("lib.pcap.clock")
local tables = require("core.lib.tables")

local bswap = bit.bswap
local cast = ffi.cast
local padded = format.padded
local u32_ptr = ffi.typeof("const uint32_t *")
local u16_ptr = ffi.typeof("const uint16_t *")
local u64_ptr = ffi.typeof("const uint64_t *")
local int64_t = ffi.typeof("int64_t")
local bytes_ptr = ffi.typeof("const uint8_t *")

-- Lengths in bytes, with the block's type and both copies of its length.
local SECTION_HEADER_MIN = 28
local INTERFACE_MIN = 20
local PACKET_MIN = 32
local SIMPLE_PACKET_MIN = 16

local MICROSECONDS = 6  -- if_tsresol where there is none: 10^-6 s

local M = {}

local Pcapng = {}
Pcapng.__index = Pcapng

local function raise(self, fmt, ...)
  failure.raise("%s: the block at offset %d " .. fmt, self.input.path,
                self.input:offset(), ...)
end

local function cut(self, wanted)
  local input = self.input
  failure.raise("%s ends in the middle of a block, which begins at offset %d after"
                .. " packet %d (%d of %d bytes)", input.path, input:offset(),
                self.packets, input:available(), wanted)
end

local function u32(self, pointer, i)
  local value = pointer[i]
  return self.swap and bswap(value) % 2^32 or value
end

local function u16(self, pointer, i)
  local value = pointer[i]
  return self.swap and bit.rshift(bswap(value), 16) or value
end

-- Have the whole block of `total` bytes in the window, and check that the two
-- copies of its length agree. Returns a pointer to the block.
local function hold(self, total, least)
  if total < least or total % 4 ~= 0 then
    raise(self, "has the impossible length %d", total)
  end
  if total > format.MAX_BLOCK then
    raise(self, "claims %d bytes, but at most %d can be read", total,
          format.MAX_BLOCK)
  end
  local input = self.input
  if not input:need(total) then
    cut(self, total)
  end
  local block = cast(u32_ptr, input.window + input.cursor)
  local trailer = u32(self, block, total / 4 - 1)
  if trailer ~= total then
    raise(self, "has two lengths, %d and %d", total, trailer)
  end
  return block
end

-- Sections and interfaces -----------------------------------------------------

local function read_section(self)
  local input = self.input
  if not input:need(SECTION_HEADER_MIN) then
    cut(self, SECTION_HEADER_MIN)
  end
  local block = cast(u32_ptr, input.window + input.cursor)
  if block[2] == format.BYTE_ORDER_MAGIC then
    self.swap = false
  elseif bswap(block[2]) == format.BYTE_ORDER_MAGIC then
    self.swap = true
  else
    raise(self, "begins a section with byte order mark 0x%08x, which is neither"
          .. " order of 0x1a2b3c4d", block[2])
  end
  local total = u32(self, block, 1)
  block = hold(self, total, SECTION_HEADER_MIN)
  local major = u16(self, cast(u16_ptr, block), 6)
  if major ~= 1 then
    raise(self, "begins a section of version %d; version 1 can be read", major)
  end
  self.interfaces = {}
  input:skip(total)
end

-- Call `visit(code, bytes, length)` for each option from `at` to `limit`.
local function each_option(self, bytes, at, limit, visit)
  while at + 4 <= limit do
    local head = cast(u16_ptr, bytes + at)
    local code, length = u16(self, head, 0), u16(self, head, 1)
    at = at + 4
    if code == format.OPTION_END then
      return
    elseif length > limit - at then
      raise(self, "has an option %d of %d bytes, which is past its end", code, length)
    end
    visit(code, bytes + at, length)
    at = at + padded(length)
  end
end

local function time_unit(self, resolution)
  local to_ns = clock.to_ns(resolution)
  if not to_ns then
    raise(self, "describes an interface with the time unit 0x%02x (if_tsresol);"
          .. " 10^-28 s and 2^-63 s are the smallest that can be read", resolution)
  end
  return to_ns
end

local function read_interface(self, total)
  local block = hold(self, total, INTERFACE_MIN)
  local linktype = u16(self, cast(u16_ptr, block), 4)
  self.linktype = self.linktype or linktype
  local wanted = self.any_link and self.linktype or format.LINKTYPE_ETHERNET
  if linktype ~= wanted then
    failure.raise("%s has an interface of link type %d (block at offset %d); only %s"
                  .. " can be read", self.input.path, linktype, self.input:offset(),
                  self.any_link and "that of its first" or "Ethernet (1)")
  end
  local snaplen = u32(self, block, 3)
  if snaplen == 0 or snaplen > format.MAX_CAPTURED then
    snaplen = format.MAX_CAPTURED
  end
  local resolution, offset_s = MICROSECONDS, 0LL
  each_option(self, cast(bytes_ptr, block), 16, total - 4,
    function(code, value, length)
      if code == format.IF_TSRESOL and length == 1 then
        resolution = value[0]
      elseif code == format.IF_TSOFFSET and length == 8 then
        local seconds = cast(u64_ptr, value)[0]
        offset_s = cast(int64_t, self.swap and bswap(seconds) or seconds)
      end
    end)
  self.interfaces[#self.interfaces + 1] = {
    snaplen = snaplen,
    to_ns = time_unit(self, resolution),
    offset_ns = offset_s * 1000000000LL,
  }
  self.input:skip(total)
end

-- Packets ----------------------------------------------------------------------

local function interface_of(self, index)
  local interface = self.interfaces[index + 1]
  if not interface then
    raise(self, "is of interface %d, but the section has described %d", index,
          #self.interfaces)
  end
  return interface
end

-- Hand out the packet that begins at byte `at` of the block, and step over it.
local function deliver(self, total, at, captured, most, original, time)
  local input = self.input
  local room = total - at - 4
  if captured > most or padded(captured) > room then
    raise(self, "holds packet %d with %d captured bytes, but at most %d are"
          .. " possible", self.packets + 1, captured, math.min(most, room))
  end
  local data = input.window + input.cursor + at
  input.cursor = input.cursor + total
  self.packets = self.packets + 1
  return data, captured, original < captured and captured or original, time
end

local function packet_time(self, interface, block)
  local units = u32(self, block, 3) * 0x100000000ULL + u32(self, block, 4)
  return cast(int64_t, interface.to_ns(units)) + interface.offset_ns
end

local function read_packet(self, total, index)
  local block = hold(self, total, PACKET_MIN)
  local interface = interface_of(self, index or u32(self, block, 2))
  return deliver(self, total, 28, u32(self, block, 5), interface.snaplen,
                 u32(self, block, 6), packet_time(self, interface, block))
end

-- The obsolete block is an enhanced one but for 16 bits of interface and 16 of drops.
local function read_obsolete_packet(self, total)
  local block = hold(self, total, PACKET_MIN)
  return read_packet(self, total, u16(self, cast(u16_ptr, block), 4))
end

-- A simple packet has no time (0 is given), and its snap length is interface 0's.
local function read_simple_packet(self, total)
  local block = hold(self, total, SIMPLE_PACKET_MIN)
  local original = u32(self, block, 2)
  local most = interface_of(self, 0).snaplen
  local captured = math.min(original, most)
  return deliver(self, total, 12, captured, most, original, 0LL)
end

local packet_readers = {
  [format.ENHANCED_PACKET] = function(self, total) return read_packet(self, total) end,
  [format.OBSOLETE_PACKET] = read_obsolete_packet,
  [format.SIMPLE_PACKET] = read_simple_packet,
}

local function skip_block(self, total)
  if total < 12 or total % 4 ~= 0 then
    raise(self, "has the impossible length %d", total)
  end
  local input = self.input
  local offset = input:offset()
  if not input:skip(total) then
    failure.raise("%s ends in the middle of a block, which begins at offset %d after"
                  .. " packet %d (%d of %d bytes)", input.path, offset, self.packets,
                  input:offset() - offset, total)
  end
end

-- The type and total length of the block at the cursor; nil at the file's end.
local function peek(self)
  local input = self.input
  if input:need(8) then
    local block = cast(u32_ptr, input.window + input.cursor)
    return u32(self, block, 0), u32(self, block, 1)
  elseif input:available() > 0 then
    cut(self, 8)
  end
end

-- Step over what isn't a packet; then as `peek`.
local function find_packet(self)
  local type, total = peek(self)
  while type and not packet_readers[type] do
    if type == format.SECTION_HEADER then
      read_section(self)
    elseif type == format.INTERFACE_DESCRIPTION then
      read_interface(self, total)
    else
      skip_block(self, total)
    end
    type, total = peek(self)
  end
  return type, total
end

--- Read the section header at the start of `input`, an lib.pcap.input, and what
--- stands before the first packet. Returns the object whose `next` reads the
--- packets; raises a failure when the header is cut or wrong, or an interface
--- isn't Ethernet (with `any_link`: isn't of the first one's type).
function M.new(input, any_link)
  local self = setmetatable({
    input = input,
    format = "pcapng",
    swap = false,
    interfaces = {},
    any_link = any_link,
    packets = 0,
  }, Pcapng)
  find_packet(self)
  self.first = {offset = input:offset(), swap = self.swap,
                interfaces = tables.copy(self.interfaces)}
  return self
end

--- As the `next` of lib.pcap.reader.
function Pcapng:next()
  local type, total = peek(self)
  -- A loop on every packet's way would cost the caller's loop its trace.
  if not packet_readers[type or false] then
    type, total = find_packet(self)
  end
  if type then
    return packet_readers[type](self, total)
  end
end

--- As the `quick` of lib.pcap.reader: what is at hand is an enhanced packet block.
function Pcapng:quick()
  local input = self.input
  local available = input.limit - input.cursor
  if available < PACKET_MIN then return nil end
  local block = cast(u32_ptr, input.window + input.cursor)
  local total, captured = u32(self, block, 1), u32(self, block, 5)
  if u32(self, block, 0) ~= format.ENHANCED_PACKET or total < PACKET_MIN
      or total > available or total % 4 ~= 0
      or u32(self, block, total / 4 - 1) ~= total then
    return nil
  end
  local interface = self.interfaces[u32(self, block, 2) + 1]
  if not interface or captured > interface.snaplen
      or padded(captured) > total - PACKET_MIN then
    return nil
  end
  return deliver(self, total, 28, captured, interface.snaplen, u32(self, block, 6),
                 packet_time(self, interface, block))
end

--- As the `refill` of lib.pcap.reader: a block that is whole needs no more.
function Pcapng:refill()
  local input = self.input
  local available = input.limit - input.cursor
  if available >= 8 then
    local block = cast(u32_ptr, input.window + input.cursor)
    if u32(self, block, 1) <= available then return end
  end
  input:refill()
end

--- As the `rewind` of lib.pcap.reader.
function Pcapng:rewind()
  local first = self.first
  self.input:rewind(first.offset)
  self.swap, self.interfaces = first.swap, tables.copy(first.interfaces)
  self.packets = 0
end

return M
