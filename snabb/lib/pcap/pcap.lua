-- SPDX-License-Identifier: Apache-2.0
-- Snabb's API of lib.pcap.pcap, which works on Lua files and strings. Where speed
-- counts use lib.pcap.reader and lib.pcap.writer.

local ffi = require("ffi")
local failure = require("core.failure")
local format = require("lib.pcap.format")
local reader = require("lib.pcap.reader")

local M = {}

local SNAPLEN = 65535
local NS_PER_S = 1000000000LL

local function must(file, ok, problem)
  if ok then return end
  failure.raise("can't write %s: %s", tostring(file), tostring(problem))
end

-- (What isn't a file but has its methods may return nothing.)
local function write(file, bytes)
  if io.type(file) then must(file, file:write(bytes)) else file:write(bytes) end
end

local function flush(file)
  if io.type(file) then must(file, file:flush()) else file:flush() end
end

--- Write a pcap file header (microseconds, Ethernet) to the Lua file `file`.
function M.write_file_header(file)
  local header = format.file_header_t()
  header.magic_number = format.MAGIC_US
  header.version_major, header.version_minor = 2, 4
  header.snaplen = SNAPLEN
  header.network = format.LINKTYPE_ETHERNET
  write(file, ffi.string(header, ffi.sizeof(header)))
  flush(file)
end

--- Write the header of a record of `length` bytes, with time 0.
function M.write_record_header(file, length)
  local record = format.record_t(0, 0, length, length)
  write(file, ffi.string(record, ffi.sizeof(record)))
end

--- Write a record: `length` bytes at `pointer`, with time 0.
function M.write_record(file, pointer, length)
  M.write_record_header(file, length)
  write(file, ffi.string(pointer, length))
  flush(file)
end

--- Read an object of the C type `type` from the Lua file `file`. Returns nil at the
--- end of the file; raises a failure when the file ends within the object.
function M.readc(file, type)
  local size = ffi.sizeof(type)
  local bytes = file:read(size)
  if not bytes then
    return nil
  elseif #bytes ~= size then
    failure.raise("%s ends in the middle of a %s (%d of %d bytes)", tostring(file),
                  tostring(type), #bytes, size)
  end
  local object = ffi.new(type)
  ffi.copy(object, bytes, size)
  return object
end

--- Read the file header of the Lua file `file`, of microseconds and host byte order.
--- (`lib.pcap.reader` reads the other kinds.)
function M.read_file_header(file)
  local header = M.readc(file, format.file_header_t)
  if not header then
    failure.raise("%s is empty; a pcap file is wanted", tostring(file))
  elseif header.magic_number ~= format.MAGIC_US then
    failure.raise("%s begins with 0x%08x; a pcap file of this byte order begins with"
                  .. " 0x%08x", tostring(file), header.magic_number, format.MAGIC_US)
  end
  return header
end

--- Iterate over the packets of the savefile `filename`, of any kind that
--- `lib.pcap.reader` reads: a string of the packet's captured bytes, and a record
--- with `ts_sec`, `ts_usec`, `incl_len`, `orig_len`. Raises failures as the reader.
function M.records(filename)
  local file = reader.open(filename, {any_link = true})
  return function()
    local data, captured, original, time = file:next()
    if not data then
      file:close()
      return nil
    end
    local record = format.record_t(time / NS_PER_S, time % NS_PER_S / 1000, captured,
                                   original)
    return ffi.string(data, captured), record
  end, true, true
end

return require("core.lib.arguments").guard(M, "pcap", {
  write_file_header = "file", write_record_header = "file, count",
  write_record = "file, pointer, count", readc = "file, ctype",
  read_file_header = "file",
  records = "string",
})
