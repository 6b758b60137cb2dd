-- SPDX-License-Identifier: Apache-2.0
-- PcapReader and PcapWriter: packets from and to savefiles (lib.pcap). A damaged
-- file or a full disk must not take along packets that are under way: the reader
-- says what is wrong, and is done.

local clock = require("core.lib.clock")
local counter = require("core.counter")
local engine = require("core.app")
local failure = require("core.failure")
local lib = require("core.lib")
local link = require("core.link")
local log = require("core.lib.log")
local main = require("core.main")
local packet = require("core.packet")
local reader = require("lib.pcap.reader")
local writer = require("lib.pcap.writer")

local M = {}

-- PcapReader -------------------------------------------------------------------

local PcapReader = {
  argument = "string",
  shm = {
    packets = {counter},   -- sent to the output
    oversize = {counter},  -- skipped: longer than a packet can be
  },
}
PcapReader.__index = PcapReader
M.PcapReader = PcapReader

--- Read `filename`, a pcap or pcapng file of any link type. Raises a failure when that
--- can't be read. Fields: `done`, true once the file has ended; `failure`, the sentence
--- of what ended it early, which is printed on stderr too.
function PcapReader:new(filename)
  return PcapReader.of(reader.open(filename, {any_link = true}))
end

--- The same, of a file that lib.pcap.reader has opened.
function PcapReader.of(file)
  return setmetatable({
    file = file,
    done = false,
    packets = 0,
    oversize = 0,
  }, PcapReader)
end

local function give_up(self, err)
  if not failure.is(err) then
    error(err, 0)
  end
  self.done = true
  self.failure = tostring(err)
  log.error("%s", self.failure)
end

local function next_slowly(self)
  local ok, data, length, original, time = pcall(self.file.next, self.file)
  if not ok then
    give_up(self, data)
    return nil
  end
  return data, length, original, time
end

--- The next packet, as lib.pcap.reader's next; nil too, after give_up(), when the
--- file is damaged. (The pcall() is within the burst's loop: a loop within a pcall()
--- is compiled, but not what comes after it.)
function PcapReader:next_packet()
  local file = self.file
  local data, length, original, time = file:quick()
  if data then return data, length, original, time end
  file:refill()
  data, length, original, time = file:quick()
  if data then return data, length, original, time end
  return next_slowly(self)
end

--- Go back to the file's first packet; false, after give_up(), where that can't be.
function PcapReader:rewind()
  local ok, err = pcall(self.file.rewind, self.file)
  if not ok then give_up(self, err) end
  return ok
end

-- Send up to `n` packets of the file. (apps.pcap.replayer has another burst.)
function PcapReader:burst(output, n)
  for _ = 1, n do
    local data, length = self:next_packet()
    if not data then
      self.done = true
      return
    elseif length <= packet.max_payload then
      link.transmit(output, packet.from_pointer(data, length))
      self.packets = self.packets + 1
    else
      self.oversize = self.oversize + 1
    end
  end
end

--- Send a burst of packets, as many as the output has room for.
function PcapReader:pull()
  if self.done then
    return
  end
  local output = assert(self.output.output, "PcapReader's output isn't linked")
  local n = math.min(engine.pull_npackets, link.nwritable(output))
  self:burst(output, n)
  counter.set(self.shm.packets, self.packets)
  counter.set(self.shm.oversize, self.oversize)
end

--- Nothing is lost if it is read later (core.move.intake).
PcapReader.can_wait = true

--- For engine.finished: it ends, and has ended.
function PcapReader.ends() return true end
function PcapReader:ended() return self.done end

--- A second start would begin the file again.
function PcapReader.begins_anew() return true end

function PcapReader:report()
  print(("  %s: %d packets read, %d skipped (longer than %d bytes)"):format(
    self.file.path, self.packets, self.oversize, packet.max_payload))
end

function PcapReader:stop()
  self.file:close()
end

-- PcapWriter -------------------------------------------------------------------

local PcapWriter = {
  shm = {
    packets = {counter},      -- in the file
    not_written = {counter},  -- lost, because the file couldn't be written
    over_limit = {counter},   -- dropped: arrived after the last one to write
  },
}
PcapWriter.__index = PcapWriter
M.PcapWriter = PcapWriter

local modes = {w = false, wb = false, ["w+"] = false, ["w+b"] = false,
               a = true, ab = true, ["a+"] = true, ["a+b"] = true}

-- The snap length of Snabb's files.
local SNABB_SNAPLEN = 65535

local function settings(arg)
  if type(arg) ~= "table" then
    arg = {arg, snaplen = main.mimics_snabb() and SNABB_SNAPLEN}
  end
  local filename, mode = arg.filename or arg[1], arg.mode or arg[2] or "w"
  if type(filename) ~= "string" then
    failure.usage("PcapWriter wants a file name, not %s", tostring(filename))
  elseif modes[mode] == nil then
    failure.usage("PcapWriter can't open %s in mode %q; there are \"w\" and \"a\"",
                  filename, tostring(mode))
  end
  return filename, {append = modes[mode], format = arg.format,
                    resolution = arg.resolution, snaplen = arg.snaplen or nil}
end

local function count(self)
  local written, lost = self.file:written()
  counter.set(self.shm.packets, written)
  counter.set(self.shm.not_written, lost)
  counter.set(self.shm.over_limit, self.over_limit)
end

--- Write to a savefile: `arg` is its name, or a table: `filename` (or [1]), `mode`
--- (or [2]) "w" (default) or "a" to append, the `format`, `resolution` and `snaplen`
--- of lib.pcap.writer, and `limit`, the most packets to write (default: any number;
--- those beyond are dropped), `timeless` (all times are 0, so that the same packets
--- give the same file). Raises a failure when the options are wrong. When modules come
--- from a Snabb checkout, files without such options have the bytes that Snabb writes,
--- which its tests compare: timeless ones.
function PcapWriter:new(arg)
  local filename, options = settings(arg)
  return setmetatable({
    timeless = main.mimics_snabb() and type(arg) ~= "table"
      or type(arg) == "table" and arg.timeless,
    file = writer.new(filename, options),
    room = type(arg) == "table" and arg.limit or math.huge,
    over_limit = 0,
  }, PcapWriter)
end

--- Another limit is one of all packets of the file.
function PcapWriter.reconfig_keeps(fresh, running)
  fresh.room = math.max(0, fresh.room - running.file:written())
  return {"file", "over_limit"}
end

--- Another file, or format, is another app.
function PcapWriter.reconfig_restarts(before, after)
  local filename, options = settings(before)
  local filename_after, options_after = settings(after)
  return filename ~= filename_after or not lib.equal(options, options_after)
end

--- Create the file. Raises a failure when it can't be written.
function PcapWriter:begin()
  self.file:create()
  self.file.output.on_failure = function () count(self) end
end

local function write_burst(self, input, n, time)
  local file = self.file
  for _ = 1, n do
    local p = link.front(input)
    file:write(p.data, p.length, p.length, time)
    packet.free(link.receive(input))
  end
  self.room = self.room - n
  file:flush()
end

local function drop_all(self, input)
  local n = link.nreadable(input)
  for _ = 1, n do
    packet.free(link.receive(input))
  end
  self.over_limit = self.over_limit + n
end

PcapWriter.needs_packets = true

--- Write what has arrived, with the time of this call; it is in the file when push
--- returns. Raises a failure when the file can't be written (a full disk); the
--- packet at hand stays in the link then. (No pcall() here: what it calls isn't
--- compiled to its end.)
function PcapWriter:push()
  local input = self.input.input
  if link.empty(input) then
    return
  end
  local n = math.min(link.nreadable(input), self.room)
  write_burst(self, input, n, self.timeless and 0 or clock.unix_nanoseconds())
  drop_all(self, input)
  count(self)
end

--- A second start would begin the file again, unless it appends.
function PcapWriter.begins_anew() return true end

function PcapWriter:report()
  local written, lost = self.file:written()
  print(("  %s: %d packets written, %d lost, %d dropped (over the limit)"):format(
    self.file.path, written, lost, self.over_limit))
end

function PcapWriter:stop()
  self.file:close()
end

return M
