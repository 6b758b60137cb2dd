-- SPDX-License-Identifier: Apache-2.0
-- Reads the records of a pcap file (either byte order, microseconds or
-- nanoseconds). lib.pcap.reader chooses between this and lib.pcap.pcapng.

local ffi = require("ffi")
local bit = require("bit")
local failure = require("core.failure")
local format = require("lib.pcap.format")

local bswap = bit.bswap
local cast = ffi.cast
local file_header_ptr = ffi.typeof("struct savefile_header *")
local u32_ptr = ffi.typeof("const uint32_t *")

local FILE_HEADER_SIZE = ffi.sizeof(format.file_header_t)
local RECORD_HEADER_SIZE = ffi.sizeof(format.record_t)
-- The lower 26 bits are the link type, the rest is the length of a frame check.
local LINKTYPE_MASK = 0x03ffffff

local M = {}

local Savefile = {}
Savefile.__index = Savefile

-- bit operations give signed numbers; these are the unsigned ones.
local function swapped(number)
  return bswap(number) % 2^32
end

local magics = {
  [format.MAGIC_US] = {swap = false, ns_per_unit = 1000LL},
  [format.MAGIC_NS] = {swap = false, ns_per_unit = 1LL},
  [swapped(format.MAGIC_US)] = {swap = true, ns_per_unit = 1000LL},
  [swapped(format.MAGIC_NS)] = {swap = true, ns_per_unit = 1LL},
}

--- Is `magic`, a file's first 32 bits in host order, that of a pcap file?
function M.is_magic(magic)
  return magics[magic] ~= nil
end

local function check_header(path, header, swap, any_link)
  local major, minor = header.version_major, header.version_minor
  local snaplen, network = header.snaplen, header.network
  if swap then
    major, minor = bit.rshift(bswap(major), 16), bit.rshift(bswap(minor), 16)
    snaplen, network = swapped(snaplen), swapped(network)
  end
  if major ~= 2 or minor ~= 4 then
    failure.raise("%s is a pcap file of version %d.%d; version 2.4 can be read",
                  path, major, minor)
  end
  local linktype = bit.band(network, LINKTYPE_MASK)
  if linktype ~= format.LINKTYPE_ETHERNET and not any_link then
    failure.raise("%s has link type %d; only Ethernet (1) can be read",
                  path, linktype)
  end
  return snaplen, linktype
end

--- Read the file header at the start of `input`, an lib.pcap.input. Returns the
--- object whose `next` reads the records; raises a failure when the header is cut,
--- or of another version or, unless `any_link`, link type.
function M.new(input, any_link)
  if not input:need(FILE_HEADER_SIZE) then
    failure.raise("%s ends in the middle of its file header (%d of %d bytes)",
                  input.path, input:available(), FILE_HEADER_SIZE)
  end
  local header = cast(file_header_ptr, input.window + input.cursor)
  local magic = magics[header.magic_number]
  local snaplen, linktype = check_header(input.path, header, magic.swap, any_link)
  if snaplen == 0 or snaplen > format.MAX_CAPTURED then
    snaplen = format.MAX_CAPTURED
  end
  input:skip(FILE_HEADER_SIZE)
  return setmetatable({
    input = input,
    format = "pcap",
    resolution = magic.ns_per_unit == 1 and "ns" or "us",
    swap = magic.swap,
    ns_per_unit = magic.ns_per_unit,
    snaplen = snaplen,
    linktype = linktype,
    packets = 0,
  }, Savefile)
end

local function cut(self, wanted)
  local input = self.input
  failure.raise("%s ends in the middle of packet %d, which begins at offset %d"
                .. " (%d of %d bytes)", input.path, self.packets + 1,
                input:offset(), input:available(), wanted)
end

local function too_long(self, captured)
  failure.raise("%s: packet %d at offset %d claims %d bytes, but at most %d are"
                .. " possible", self.input.path, self.packets + 1,
                self.input:offset(), captured, self.snaplen)
end

-- The captured length of the record at the cursor.
local function captured_length(self)
  local record = cast(u32_ptr, self.input.window + self.input.cursor)
  return self.swap and swapped(record[2]) or record[2]
end

--- As the `quick` of lib.pcap.reader.
function Savefile:quick()
  local input = self.input
  local available = input.limit - input.cursor
  if available < RECORD_HEADER_SIZE then return nil end
  local record = cast(u32_ptr, input.window + input.cursor)
  local sec, fraction, captured, original
    = record[0], record[1], record[2], record[3]
  if self.swap then
    sec, fraction = swapped(sec), swapped(fraction)
    captured, original = swapped(captured), swapped(original)
  end
  local length = RECORD_HEADER_SIZE + captured
  if captured > self.snaplen or length > available then return nil end
  local data = input.window + input.cursor + RECORD_HEADER_SIZE
  input.cursor = input.cursor + length
  self.packets = self.packets + 1
  local time = sec * 1000000000LL + fraction * self.ns_per_unit
  return data, captured, original < captured and captured or original, time
end

--- As the `refill` of lib.pcap.reader.
function Savefile:refill()
  self.input:refill()
end

--- As the `next` of lib.pcap.reader.
function Savefile:next()
  local input = self.input
  if not input:need(RECORD_HEADER_SIZE) then
    if input:available() > 0 then
      cut(self, RECORD_HEADER_SIZE)
    end
    return nil
  end
  local captured = captured_length(self)
  if captured > self.snaplen then
    too_long(self, captured)
  end
  local length = RECORD_HEADER_SIZE + captured
  if not input:need(length) then
    cut(self, length)
  end
  return self:quick()
end

--- As the `rewind` of lib.pcap.reader.
function Savefile:rewind()
  self.input:rewind(FILE_HEADER_SIZE)
  self.packets = 0
end

return M
