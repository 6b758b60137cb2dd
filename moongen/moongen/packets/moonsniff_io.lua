-- SPDX-License-Identifier: Apache-2.0
-- MoonSniff's files of timestamps (mscap): records of 12 bytes, a time in nanoseconds
-- and what identifies a packet, in host byte order.

local ffi = require("ffi")
local failure = require("core.failure")
local files = require("core.lib.files")
local open_files = require("moongen.tasks.open_files")

ffi.cdef[[
struct mscap { uint64_t timestamp; uint32_t identification; };
]]

local SIZE = 12 -- bytes of a record: without the struct's padding
local FLUSH = 1024 * 1024

local io_ = {}

function io_.setInitialFilesize() end

local function open(filename, mode)
  local file, message = io.open(filename, mode)
  if not file then failure.raise("can't open %s", message) end
  return file
end

local Writer = {}
Writer.__index = Writer

local function new_writer(filename, mode)
  local self = setmetatable({file = open(filename, mode), filename = filename, used = 0,
    bytes = ffi.new("uint8_t[?]", FLUSH + 16)}, Writer)
  open_files.add(self)
  return self
end

--- A writer of the file, which is replaced.
function io_.newWriter(_, filename) return new_writer(filename, "wb") end

--- A writer behind what is in the file.
function io_.newAppender(filename) return new_writer(filename, "ab") end

local function flush(writer)
  if writer.used == 0 then return end
  local records = ffi.string(writer.bytes, writer.used)
  writer.used = 0
  files.append(writer.file, writer.filename, records)
end

--- Add a record: a number of 32 bits, and nanoseconds.
function Writer:write(identification, timestamp)
  if self.used + SIZE > FLUSH then flush(self) end
  local record = ffi.cast("struct mscap *", self.bytes + self.used)
  record.identification, record.timestamp = identification, timestamp
  self.used = self.used + SIZE
  open_files.pending = true
end

--- Put all into the file. Raises a failure if that can't be done.
Writer.flush = flush

function Writer:resize() end -- luacheck: ignore 212

--- Put all into the file, and close it. Raises a failure if that can't be done.
function Writer:close()
  open_files.remove(self)
  flush(self)
  files.close_written(self.file, self.filename)
end

local Reader = {}
Reader.__index = Reader

--- A reader of the file.
function io_.newReader(_, filename)
  local file = open(filename, "rb")
  local text = file:read("*a")
  file:close()
  local bytes = ffi.new("uint8_t[?]", #text + 16)
  ffi.copy(bytes, text, #text)
  return setmetatable({bytes = bytes, size = #text, offset = 0}, Reader)
end

--- The next record, a struct mscap * that is valid as long as the reader; nil at the
--- end.
function Reader:readSingle()
  if self.size - self.offset < SIZE then return nil end
  local record = ffi.cast("struct mscap *", self.bytes + self.offset)
  self.offset = self.offset + SIZE
  return record
end

function Reader:close() self.offset = self.size end

return io_
