-- SPDX-License-Identifier: Apache-2.0
-- Blocks of pcapng in host byte order, for files (lib.pcap.writer) and streams: the
-- section, interfaces, packets, statistics. Source: draft-ietf-opsawg-pcapng.

local ffi = require("ffi")
local bit = require("bit")
local format = require("lib.pcap.format")

local blocks = {}

local INTERFACE_STATISTICS = 5
local COMMENT = 1
local IF_NAME, IF_TSRESOL = 2, format.IF_TSRESOL
local ISB_IFRECV, ISB_IFDROP = 4, 5
local NANOSECONDS = 9 -- 10^-9 s
local PACKET_HEADER = ffi.sizeof(format.enhanced_packet_t)
local packet_ptr = ffi.typeof("struct pcapng_enhanced_packet *")
local u32_ptr = ffi.typeof("uint32_t *")
local cast, copy, fill, padded = ffi.cast, ffi.copy, ffi.fill, format.padded

local function u16(n) return ffi.string(ffi.new("uint16_t[1]", n), 2) end
local function u32(n) return ffi.string(ffi.new("uint32_t[1]", n), 4) end
local function u64(n) return ffi.string(ffi.new("uint64_t[1]", n), 8) end

local function pad(text) return text .. ("\0"):rep(-#text % 4) end

-- Options: a list of {code, value}.
local function options(list)
  local texts = {}
  for i, option in ipairs(list) do
    texts[i] = u16(option[1]) .. u16(#option[2]) .. pad(option[2])
  end
  return #list > 0 and table.concat(texts) .. u32(0) or ""
end

local function block(kind, body)
  local total = u32(#body + 12)
  return u32(kind) .. total .. body .. total
end

--- The block that begins a section.
function blocks.section()
  return block(format.SECTION_HEADER,
    u32(format.BYTE_ORDER_MAGIC) .. u16(1) .. u16(0) .. u64(-1LL))
end

--- The description of an interface of that name (nil: without) and `linktype` (nil:
--- Ethernet), whose times are in units of 10^-`exponent` seconds (nil: nanoseconds).
function blocks.interface(name, snaplen, exponent, linktype)
  local list = {{IF_TSRESOL, string.char(exponent or NANOSECONDS)}}
  if name then table.insert(list, 1, {IF_NAME, name}) end
  return block(format.INTERFACE_DESCRIPTION,
    u16(linktype or format.LINKTYPE_ETHERNET) .. u16(0) .. u32(snaplen)
      .. options(list))
end

--- The bytes of an enhanced packet block for `captured` bytes and `n` bytes of options.
function blocks.packet_bytes(captured, n)
  return PACKET_HEADER + padded(captured) + n + 4
end

--- Write an enhanced packet block of `total` bytes (packet_bytes) at `start`:
--- `captured` bytes at `data` of a packet that had `original`, at a time in the
--- interface's units (uint64_t). Options are the caller's to put before the last 4
--- bytes.
function blocks.write_packet(start, total, interface, data, captured, original, time)
  local header = cast(packet_ptr, start)
  header.type, header.total_length = format.ENHANCED_PACKET, total
  header.interface = interface
  header.time_high, header.time_low = time / 0x100000000ULL, time % 0x100000000ULL
  header.captured, header.original = captured, original
  local at = start + PACKET_HEADER
  copy(at, data, captured)
  fill(at + captured, padded(captured) - captured)
  cast(u32_ptr, start + total - 4)[0] = total
end

--- The statistics of interface number `id` at `time_ns` (nanoseconds since 1970, a
--- uint64_t): packets `received`, those `dropped` by the capture itself, a comment.
function blocks.statistics(id, time_ns, received, dropped, comment)
  local high, low = time_ns / 0x100000000ULL, time_ns % 0x100000000ULL
  return block(INTERFACE_STATISTICS, u32(id) .. u32(high) .. u32(low)
    .. options{{COMMENT, comment}, {ISB_IFRECV, u64(received)},
               {ISB_IFDROP, u64(dropped)}})
end

--- The bytes of the options that a packet with this comment needs, with their end.
function blocks.comment(text) return options{{COMMENT, text}} end

--- The first whole block of the string, from `at` (1 is the first byte) on: its type
--- and its length; nil if it isn't whole. Raises an error if there is no block.
function blocks.at(bytes, at)
  if #bytes - at + 1 < 12 then return nil end
  local words = ffi.cast("const uint32_t *", ffi.cast("const char *", bytes) + at - 1)
  local kind, length = words[0], words[1]
  if length < 12 or bit.band(length, 3) ~= 0 or length > format.MAX_BLOCK then
    error(("what came isn't pcapng: a block of %d bytes"):format(length), 0)
  end
  if #bytes - at + 1 < length then return nil end
  return kind, length
end

blocks.STATISTICS = INTERFACE_STATISTICS

-- Call take(code, value) for each option of the block, the first of which is at `at`.
local function each_option(bytes, at, take)
  while at + 4 <= #bytes - 4 do
    local half = ffi.cast("const uint16_t *", ffi.cast("const char *", bytes) + at - 1)
    local code, length = half[0], half[1]
    if code == 0 then break end
    take(code, bytes:sub(at + 4, math.min(at + 3 + length, #bytes - 4)))
    at = at + 4 + padded(length)
  end
end

--- What a block of statistics tells: {comment =, received =, dropped =}.
function blocks.read_statistics(bytes)
  local found = {}
  each_option(bytes, 21, function (code, value)
    if code == COMMENT then found.comment = value end
    if (code == ISB_IFRECV or code == ISB_IFDROP) and #value == 8 then
      local n = ffi.new("uint64_t[1]")
      ffi.copy(n, value, 8)
      found[code == ISB_IFRECV and "received" or "dropped"] = tonumber(n[0])
    end
  end)
  return found
end

--- What an enhanced packet block tells: {data = the bytes captured, length = those that
--- the packet had, comment =}.
function blocks.read_packet(bytes)
  if #bytes < PACKET_HEADER + 4 then return {data = "", length = 0} end
  local header = ffi.cast("const struct pcapng_enhanced_packet *",
    ffi.cast("const char *", bytes))
  local captured = math.min(header.captured, #bytes - PACKET_HEADER - 4)
  local found = {length = header.original,
    data = bytes:sub(PACKET_HEADER + 1, PACKET_HEADER + captured)}
  each_option(bytes, PACKET_HEADER + padded(captured) + 1, function (code, value)
    if code == COMMENT then found.comment = value end
  end)
  return found
end

return blocks
