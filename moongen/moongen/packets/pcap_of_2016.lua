-- SPDX-License-Identifier: Apache-2.0
-- Savefiles as MoonGen's scripts of 2015 and 2016 read and write them: the global
-- objects pcapReader and pcapWriter, over those of moongen.packets.pcap.

local pcap = require("moongen.packets.pcap")
local reader_of = require("lib.pcap.reader")

local M = {}

local WIRE_OVERHEAD = 24 -- bytes of a frame that buffers don't have
local MBIT_RATE = 10000

local Writer = {}
Writer.__index = Writer
M.writer = Writer

--- A writer of the savefile, which is replaced.
function Writer.newPcapWriter(_, filename)
  return setmetatable({file = pcap:newWriter(filename, 0)}, Writer)
end

-- Write the first `n` buffers (default: all); of_time(i) is when the i-th came, in
-- seconds after the first.
local function write(self, bufs, n, of_time)
  for i = 1, n or #bufs do self.file:writeBuf(of_time(i), bufs[i]) end
  self.file:flush()
end

--- Write the first `n` buffers (default: all); `ts`, a list of seconds (default: all
--- are 0).
function Writer:write(bufs, n, ts)
  if ts then self.start = self.start or ts[1] end
  write(self, bufs, n, function (i) return ts and ts[i] - self.start or 0 end)
end

--- The same with a list of the time stamp counter's values.
function Writer:writeTSC(bufs, ts, n)
  local hz = require("moongen.clock").hz()
  self.start = self.start or ts[1]
  write(self, bufs, n, function (i) return tonumber(ts[i] - self.start) / hz end)
end

function Writer:close() self.file:close() end

local Reader = {}
Reader.__index = Reader
M.reader = Reader

--- A reader of the savefile. Delays are for a link of `rate` Mbit/s (default 10,000).
function Reader.newPcapReader(_, filename, rate)
  return setmetatable({file = reader_of.open(filename), done = false,
    rate = tonumber(rate) or MBIT_RATE}, Reader)
end

-- The bytes on the wire that pass between two packets, of which the first has `size`.
local function delay_of(self, nanoseconds, size)
  local bytes = nanoseconds * self.rate / 8000
  return math.max(0, math.floor(bytes - size - WIRE_OVERHEAD + 0.5))
end

--- Read packets into the buffers; how many there were. `done` is true at the end.
--- `withDelay`: with the gaps that the file has, for a rate limiter.
function Reader:readPkt(bufs, withDelay)
  for i = 1, #bufs do
    local data, captured, original, time = self.file:next()
    if not data then
      self.done = true
      return i - 1
    end
    bufs[i]:setRawPacket(require("ffi").string(data, captured))
    if withDelay then
      local gap = self.last and delay_of(self, tonumber(time - self.last), self.size)
      bufs[i]:setDelay(gap or 0)
      self.last, self.size = time, original
    end
  end
  return #bufs
end

function Reader:close() self.file:close() end

return M
