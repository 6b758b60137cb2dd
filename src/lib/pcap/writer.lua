-- SPDX-License-Identifier: Apache-2.0
-- Writes packets to a savefile, pcap or pcapng, in host byte order: `new` looks whether
-- it can be, `create` makes the file, or empties it. What `write` takes is buffered:
-- `flush` or `close` puts it into the file.

local ffi = require("ffi")
local blocks = require("lib.pcap.blocks")
local failure = require("core.failure")
local format = require("lib.pcap.format")
local output = require("lib.pcap.output")
local reader = require("lib.pcap.reader")

local cast, copy = ffi.cast, ffi.copy
local packet_bytes, write_packet = blocks.packet_bytes, blocks.write_packet

local FILE_HEADER_SIZE = ffi.sizeof(format.file_header_t)
local RECORD_HEADER_SIZE = ffi.sizeof(format.record_t)

local file_header_ptr = ffi.typeof("struct savefile_header *")
local record_ptr = ffi.typeof("struct savefile_record *")

local NS_PER_S = 1000000000ULL
local resolutions = {
  us = {magic = format.MAGIC_US, ns_per_unit = 1000ULL, exponent = 6},
  ns = {magic = format.MAGIC_NS, ns_per_unit = 1ULL, exponent = 9},
}

local M = {}

-- pcap -----------------------------------------------------------------------

local Savefile = {}
Savefile.__index = Savefile

function Savefile:write_header()
  local header = cast(file_header_ptr, self.output:reserve(FILE_HEADER_SIZE))
  header.magic_number = self.magic
  header.version_major, header.version_minor = 2, 4
  header.thiszone, header.sigfigs = 0, 0
  header.snaplen = self.snaplen
  header.network = self.linktype
  self.output:commit(FILE_HEADER_SIZE)
end

--- Append a packet: `captured` bytes at `pointer` (cut to the snap length) of one
--- that had `original` bytes, at `time_ns` nanoseconds since 1970 (int64 or
--- number). Raises a failure when the file can't be written any more.
function Savefile:write(pointer, captured, original, time_ns)
  if captured > self.snaplen then
    captured = self.snaplen
  end
  local length = RECORD_HEADER_SIZE + captured
  local start = self.output:reserve(length)
  local record = cast(record_ptr, start)
  local time = cast("uint64_t", time_ns)
  record.ts_sec = time / NS_PER_S
  record.ts_usec = time % NS_PER_S / self.ns_per_unit
  record.incl_len, record.orig_len = captured, original
  copy(start + RECORD_HEADER_SIZE, pointer, captured)
  self.output:commit(length)
end

-- pcapng ---------------------------------------------------------------------

local Pcapng = {}
Pcapng.__index = Pcapng

local function put(out, block)
  copy(out:reserve(#block), block, #block)
  out:commit(#block)
end

function Pcapng:write_header()
  put(self.output, blocks.section())
  put(self.output, blocks.interface(nil, self.snaplen, self.exponent, self.linktype))
end

--- As the `write` of a pcap file.
function Pcapng:write(pointer, captured, original, time_ns)
  if captured > self.snaplen then
    captured = self.snaplen
  end
  local total = packet_bytes(captured, 0)
  local units = cast("uint64_t", time_ns) / self.ns_per_unit
  write_packet(self.output:reserve(total), total, 0, pointer, captured, original, units)
  self.output:commit(total)
end

-- Both -------------------------------------------------------------------------

-- What is written goes on behind `path`'s last packet. Returns whether the file has
-- a header already; a pcapng file takes a new section anywhere.
local function check_appendable(path, kind, resolution)
  local file = io.open(path, "rb")
  local size = file and file:seek("end") or 0
  if file then
    file:close()
  end
  if size == 0 then
    return false
  end
  local existing = reader.open(path)
  while existing:next() do end
  existing:close()
  if existing.format ~= kind or existing.swap
     or kind == "pcap" and existing.resolution ~= resolution then
    failure.raise("can't append %s (%s) to %s, which is %s (%s)%s", kind, resolution,
                  path, existing.format, existing.resolution or "its own units",
                  existing.swap and " of the other byte order" or "")
  end
  return kind == "pcap"
end

local kinds = {pcap = Savefile, pcapng = Pcapng}

local function check_options(kind, resolution, snaplen)
  if not kinds[kind] then
    failure.usage("no savefile format %q; there are pcap and pcapng", kind)
  elseif not resolutions[resolution] then
    failure.usage("no time resolution %q; there are us and ns", resolution)
  elseif type(snaplen) ~= "number" or snaplen < 1 or snaplen > format.MAX_CAPTURED
         or snaplen % 1 ~= 0 then
    failure.usage("the snap length can't be %s; 1 to %d bytes are possible", snaplen,
                  format.MAX_CAPTURED)
  end
end

--- A writer of the savefile `path`, which isn't touched before `create` is called.
--- `options`: `format` "pcap" (default) or "pcapng"; `resolution` of its times "us"
--- (default) or "ns"; `snaplen`, the most bytes kept of a packet (default 262144);
--- `linktype` (1, Ethernet); `append` to the packets of an existing file of the same
--- kind rather than replace it (that file is read through); `anew`, if this process
--- writes that file already and is about to end that. Raises a failure when the options
--- are wrong.
function M.new(path, options)
  options = options or {}
  local kind = options.format or "pcap"
  local resolution = options.resolution or "us"
  local snaplen = options.snaplen or format.MAX_CAPTURED
  check_options(kind, resolution, snaplen)
  local has_header = options.append and check_appendable(path, kind, resolution)
  local unit = resolutions[resolution]
  return setmetatable({
    path = path,
    append = options.append,
    anew = options.anew,
    has_header = has_header,
    snaplen = snaplen,
    linktype = options.linktype or format.LINKTYPE_ETHERNET,
    magic = unit.magic,
    ns_per_unit = unit.ns_per_unit,
    exponent = unit.exponent,
  }, kinds[kind])
end

--- A writer of `path`, which has been created: `new` and `create`.
function M.open(path, options)
  local self = M.new(path, options)
  self:create()
  return self
end

local common = {}

--- Create the file, or open it to append to it. Raises a failure when it can't be
--- written, or is in use (lib.pcap.output).
function common:create()
  local out = output.open(self.path, self.append, self.anew)
  self.output = out
  if not self.has_header then
    self:write_header()
    out:flush()
    out.written = 0
  end
end

--- Put what is buffered into the file. Raises a failure when it can't be written (a
--- full disk): the file is cut back to its last whole packet then, and all later
--- writes fail with the same sentence.
function common:flush()
  self.output:flush()
end

--- Flush and close. Raises a failure when that isn't possible; closed it is anyway.
--- Closing twice, or after a failure, or what was never created, does no harm and
--- raises nothing.
function common:close()
  if self.output then self.output:close() end
end

--- The number of packets in the file, without those still buffered and those of a
--- file appended to; and the number lost to a failure.
function common:written()
  return self.output.written, self.output.lost
end

for _, kind in pairs(kinds) do
  for name, method in pairs(common) do
    kind[name] = method
  end
end

return M
