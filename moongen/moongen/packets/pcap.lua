-- SPDX-License-Identifier: Apache-2.0
-- libmoon's pcap: savefiles read into a script's buffers, and written from them. Any
-- savefile that lib.pcap knows is read (pcapng, nanoseconds, either byte order).

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local failure = require("core.failure")
local log = require("moongen.log")
local open_files = require("moongen.tasks.open_files")
local reader_of = require("lib.pcap.reader")
local writer_of = require("lib.pcap.writer")

local pcap = {}

local DEFAULT_SIZE = 2048  -- bytes of a buffer
local FLUSH_SECONDS = 0.2  -- of packets' times, between writes to the file

-- ---- writing ----

local Writer = {}
Writer.__index = Writer

--- Does nothing: files grow as they are written.
function pcap.setInitialFilesize() end

local function start_time()
  local libmoon = require("libmoon")
  return require("moongen.packets.utils_of_time").wallTime() - libmoon.getTime()
end

--- A writer of the savefile, which is replaced. Times are given in seconds after
--- `startTime`, seconds since 1970 (nil: when libmoon.getTime() was 0).
function pcap.newWriter(_, filename, startTime)
  local self = setmetatable({startTime = startTime or start_time(),
    file = writer_of.open(filename), flush_at = -math.huge}, Writer)
  open_files.add(self)
  return self
end

--- Write `len` bytes at `data` of a packet that had `origLen` (nil: as many).
function Writer:write(timestamp, data, len, origLen)
  local time = self.startTime + timestamp
  local seconds = math.floor(time)
  local micros = math.floor((time - seconds) * 1e6 + 0.5)
  self.file:write(data, len, origLen or len, (seconds * 1000000LL + micros) * 1000)
  open_files.pending = true
  if timestamp > self.flush_at then
    self.flush_at = timestamp + FLUSH_SECONDS
    self.file:flush()
  end
end

--- Put all into the file. Raises a failure if that can't be done.
function Writer:flush() self.file:flush() end

--- Write the packet, or its first `snapLen` bytes.
function Writer:writeBuf(timestamp, buf, snapLen)
  local size = buf:getSize()
  self:write(timestamp, buf:getBytes(), math.min(size, snapLen or size), size)
end

--- Does nothing: files grow as they are written.
function Writer:resize() end -- luacheck: ignore 212

--- Put all into the file, and close it. Raises a failure if that can't be done.
function Writer:close()
  open_files.remove(self)
  self.file:close()
end

-- ---- reading ----

local Reader = {}
Reader.__index = Reader

--- A reader of the savefile, pcap or pcapng, of Ethernet.
function pcap.newReader(_, filename)
  return setmetatable({file = reader_of.open(filename)}, Reader)
end

-- Is this a task of libmoon's, not an app? An app gets no buffers back while it waits.
local function is_task() return package.loaded["moongen.script.state"] ~= nil end

-- A buffer for an app that reads packet after packet, copies each and never frees it:
-- where the reader's pool is empty, of one twice as large that is made for it.
local function take(self, mempool, size)
  local pool = self.pool or mempool
  local buf = C.mg_alloc_now(pool, size)
  if buf ~= nil then return buf end
  if pool == mempool then
    log:warn("pcap: all %d buffers of the pool are in use, and the reader goes on in "
      .. "another; free what was read", mempool.n)
  end
  local larger, why = mempool:another(2 * pool.n)
  if not larger then failure.raise("pcap: %s", why) end
  self.pool = larger
  return C.mg_alloc_now(self.pool, size)
end

-- A buffer with the packet at `data`; what was cut off is 0, as far as there is room.
local function to_buffer(self, mempool, room, data, captured, original, time)
  local size = math.min(original, room, mempool.size)
  local buf = is_task() and mempool:alloc(size) or take(self, mempool, size)
  if buf == nil then return nil end
  captured = math.min(captured, size)
  local bytes = buf:getBytes()
  ffi.copy(bytes, data, captured)
  if captured < size then ffi.fill(bytes + captured, size - captured) end
  buf.udata64 = time / 1000
  return buf
end

--- The next packet in a buffer of the pool, of as many bytes as it had on the wire (up
--- to `mempoolBufSize`, 2048, and to what the pool's buffers hold); `udata64` is its
--- time in microseconds. nil at the end. Apps may keep every packet: they
--- get another pool when theirs is empty.
function Reader:readSingle(mempool, mempoolBufSize)
  local data, captured, original, time = self.file:next()
  if not data then return nil end
  return to_buffer(self, mempool, mempoolBufSize or DEFAULT_SIZE, data, captured,
    original, time)
end

--- The same for as many packets as the array has room for; how many there were.
function Reader:read(bufs, mempoolBufSize)
  local file, mempool, array = self.file, bufs.mem, bufs.array
  local room = mempoolBufSize or DEFAULT_SIZE
  for i = 0, bufs.size - 1 do
    local data, captured, original, time = file:quick()
    if not data then data, captured, original, time = file:next() end
    if not data then return i end
    local buf = to_buffer(self, mempool, room, data, captured, original, time)
    if buf == nil then return i end
    array[i] = buf
  end
  return bufs.size
end

--- Go back to the first packet.
function Reader:reset() self.file:rewind() end

function Reader:close() self.file:close() end

return pcap
