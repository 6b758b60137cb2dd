-- SPDX-License-Identifier: Apache-2.0
-- Frames on a TLS connection: a struct replica_frame and `size` bytes. What is sent is
-- put together in one buffer, and a new frame begun only once that is sent: what a slow
-- network doesn't take isn't piled up here. What comes is read into another one, and no
-- frame is larger than that.

local ffi = require("ffi")

ffi.cdef [[
  struct replica_frame { uint32_t size, type; };
  struct replica_batch { uint32_t file, none; int64_t clock_ns; };
]]

local stream = {}

--- Types of frames. HELLO: JSON. FILE: a uint32_t, how many bytes of JSON follow, and
--- behind these the file's notes. RECORDS: a struct replica_batch, and entries
--- (net/replica/replica.h). COMPLETE: a uint32_t, the number of a file that has all
--- records now. GONE: that of one that is no more. SWEPT, and its answer SEEN: a
--- uint64_t, which sweep. REFUSE: a text. Numbers are in little-endian order.
stream.HELLO, stream.FILE, stream.RECORDS, stream.COMPLETE, stream.GONE, stream.SWEPT,
  stream.SEEN, stream.REFUSE = 1, 2, 3, 4, 5, 6, 7, 8

local HEADER = ffi.sizeof("struct replica_frame")

--- Bytes of a frame at most: notes of 1 MiB and what is before them.
stream.MOST = 2 ^ 20 + 2 ^ 16

local Stream = {}
Stream.__index = Stream

--- Frames on the connection (lib.replica.tls).
function stream.new(connection)
  return setmetatable({connection = connection,
    out = ffi.new("uint8_t[?]", HEADER + stream.MOST), out_at = 0, out_n = 0,
    inp = ffi.new("uint8_t[?]", HEADER + stream.MOST), in_n = 0, taken = 0}, Stream)
end

--- Has all been sent that was put?
function Stream:is_sent() return self.out_n == 0 end

--- Room for a frame's bytes (Stream.put_frame); nil while the last one isn't sent.
function Stream:room()
  if self.out_n > 0 then return nil end
  return self.out + HEADER, stream.MOST
end

--- The `n` bytes at room() are a frame of that type.
function Stream:put_frame(type, n)
  local frame = ffi.cast("struct replica_frame *", self.out)
  frame.size, frame.type = n, type
  self.out_at, self.out_n = 0, HEADER + n
  return self:flush()
end

--- Put a frame of these bytes. Only while is_sent().
function Stream:put(type, bytes)
  ffi.copy(assert(self:room()), bytes, #bytes)
  return self:put_frame(type, #bytes)
end

--- Send what is there. False if the connection is over.
function Stream:flush()
  while self.out_n > 0 do
    local n = self.connection:write(self.out + self.out_at, self.out_n)
    if not n then return false end
    if n == 0 then return true end
    self.out_at, self.out_n = self.out_at + n, self.out_n - n
  end
  return true
end

--- The next frame: its type, its bytes (until the next call) and how many; false if it
--- isn't there yet; nil if the connection is over, and why, behind "it", if a lie is.
function Stream:frame()
  if self.taken > 0 then -- the last one
    self.in_n, self.taken = 0, 0
  end
  while true do
    local wanted = HEADER
    if self.in_n >= HEADER then
      local frame = ffi.cast("struct replica_frame *", self.inp)
      if frame.size > stream.MOST then
        return nil, ("has a frame of %d bytes"):format(frame.size)
      end
      wanted = HEADER + frame.size
      if self.in_n >= wanted then
        self.taken = wanted
        return frame.type, self.inp + HEADER, frame.size
      end
    end
    local n = self.connection:read(self.inp + self.in_n, wanted - self.in_n)
    if not n then return nil end
    if n == 0 then return false end
    self.in_n = self.in_n + n
  end
end

--- A number of a frame at `at`: 32 bits.
function stream.uint32(at) return ffi.cast("const uint32_t *", at)[0] end
--- And 64 bits.
function stream.uint64(at) return ffi.cast("const uint64_t *", at)[0] end

--- The number as 8 such bytes.
function stream.bytes64(n) return ffi.string(ffi.new("uint64_t[1]", n), 8) end
--- And as 4.
function stream.bytes32(n) return ffi.string(ffi.new("uint32_t[1]", n), 4) end

--- What is to be polled for.
function Stream:events()
  if not self.connection.ready then
    local wants = self.connection.wants
    return {IN = wants == "IN", OUT = wants == "OUT"}
  end
  return {IN = true, OUT = self.out_n > 0 or self.connection.wants == "OUT"}
end

return stream
