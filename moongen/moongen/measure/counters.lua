-- SPDX-License-Identifier: Apache-2.0
-- Counters of packets, as `stats` makes them: of a device, of packets that are shown to
-- them, or of what is passed to them. Each prints its rates about once a second, and
-- the totals at the end (measure.formats). Bytes include the 4 of the CRC.

local arguments = require("moongen.arguments")
local ffi = require("ffi")
local clock = require("moongen.clock")
local formats = require("moongen.measure.formats")
local statistics = require("moongen.measure.statistics")
local log = require("moongen.log")
local tables = require("core.lib.tables")

local CRC_BYTES = 4
local FRAMING_BYTES = 20   -- preamble, start of frame, gap (IEEE 802.3, 4.4.2)
local INTERVAL_S = 1
-- Packets may still be under way when a device's counter is asked for its totals.
local SETTLE_MS = {RX = 100, TX = 50}

local M = {}

--- Called with (counter, interval) at each update: `mpps`, `mbit`, `wireMbit`,
--- `packets`, `bytes` (totals). For the web server.
M.observer = nil

local packet_t = ffi.typeof("struct packet")

local Counter = {}
Counter.__index = Counter

-- Files by name, so that counters of one task share them.
local open_files = {}

local function open(name)
  local entry = open_files[name]
  if not entry then
    local file, problem = io.open(name, "w+")
    if not file then log:fatal("can't write statistics: %s", problem) end
    entry = {file = file, users = 0}
    open_files[name] = entry
  end
  entry.users = entry.users + 1
  return entry.file
end

local function close(name)
  local entry = open_files[name]
  if not entry then return end
  entry.users = entry.users - 1
  if entry.users > 0 then return end
  entry.file:close()
  open_files[name] = nil
end

local function known_formats()
  local names = tables.sorted_keys(formats)
  return table.concat(names, ", ")
end

--- A counter: `direction` "RX" or "TX"; `throughput(counter)` returns packets and bytes
--- so far. Brackets around the name go, since lines put their own. `file` is a file or
--- the name of one (standard output if nil), `format` one of measure.formats.
function M.new(id, direction, name, format, file, throughput)
  format = format or "plain"
  if not formats[format] then
    log:fatal("Unsupported output format %s; there are %s", tostring(format),
      known_formats())
  end
  if file ~= nil and type(file) ~= "string" and io.type(file) ~= "file" then
    log:fatal("statistics are written to a file, or one of a name, not to %s",
      arguments.shown(file))
  end
  local named = type(file) == "string" and file or nil
  return setmetatable({
    id = id, direction = direction, dir = direction:lower(),
    name = tostring(name):gsub("^%[(.*)%]$", "%1"),
    format = format, closeFile = named,
    file = named and open(named) or file or io.stdout,
    getThroughput = throughput,
    began = clock.seconds(),
    current = 0, currentBytes = 0, -- what it was shown or told
    total = 0, totalBytes = 0,     -- as of the last update
    mpps = {}, mbit = {}, wireMbit = {},
  }, Counter)
end

-- What it was shown or told.
local function own(counter) return counter.current, counter.currentBytes end

--- A counter of a device, whose statistics it reads.
function M.of_device(id, direction, name, device, format, file)
  local read = direction == "RX" and "getRxStats" or "getTxStats"
  local counter = M.new(id, direction, name or tostring(device), format, file,
    function () return device[read](device) end)
  counter.dev, counter.sleep = device, SETTLE_MS[direction]
  if direction == "RX" and device.clearRxStats then device:clearRxStats() end
  return counter
end

--- A counter of packets shown to it by `countPacket`.
function M.of_packets(id, direction, name, format, file)
  return M.new(id, direction, name, format, file, own)
end

local Manual = setmetatable({}, Counter)
Manual.__index = Manual

--- A counter that is told by `update(packets, bytes)` or `updateWithSize(packets,
--- size)`.
function M.manual(id, direction, name, format, file)
  return setmetatable(M.new(id, direction, name, format, file, own), Manual)
end

function Counter:print(event, ...)
  formats[self.format][event](self, self.file, ...)
end

-- Begin the first interval, at `now`.
local function begin(self, now)
  self.lastUpdate = now
  self:print("init")
end

-- Take the totals as of `now` (seconds). The first call only begins an interval.
local function advance(self, now, packets, bytes, quietly)
  local elapsed = self.lastUpdate and now - self.lastUpdate
  local more_packets, more_bytes = packets - self.total, bytes - self.totalBytes
  self.total, self.totalBytes = packets, bytes
  if not elapsed then begin(self, now) end
  self.lastUpdate = now
  if not elapsed or elapsed <= 0 then return false end
  local mpps = more_packets / elapsed / 1e6
  local mbit = more_bytes * 8 / elapsed / 1e6
  local interval = {mpps = mpps, mbit = mbit,
    wireMbit = mbit + mpps * FRAMING_BYTES * 8, packets = packets, bytes = bytes}
  if not quietly then
    if M.observer then M.observer(self, interval) end
    self:print("update", interval)
  end
  table.insert(self.mpps, mpps)
  table.insert(self.mbit, mbit)
  table.insert(self.wireMbit, interval.wireMbit)
  return true
end

--- Print the rates if a second has passed. Returns whether it did.
function Counter:update()
  if self.closed then error("a counter was finalized, and its file is closed", 2) end
  local now = clock.seconds()
  if self.lastUpdate and now <= self.lastUpdate + INTERVAL_S then return false end
  return advance(self, now, self:getThroughput())
end

--- Count a packet (a buffer).
function Counter:countPacket(buf)
  if not ffi.istype(packet_t, buf) and not (type(buf) == "table" and buf.pkt_len) then
    arguments.refuse("countPacket", 1, buf, "a buffer", 4)
  end
  self.current = self.current + 1
  self.currentBytes = self.currentBytes + buf.pkt_len + CRC_BYTES
end

--- Add packets and their bytes (with CRC), and print the rates if a second has passed.
function Manual:update(packets, bytes)
  self.current = self.current + (packets or 0)
  self.currentBytes = self.currentBytes + (bytes or 0)
  return Counter.update(self)
end

--- Add packets of `size` bytes each (without CRC); else as update.
function Manual:updateWithSize(packets, size)
  return self:update(packets, packets * (size + CRC_BYTES))
end
Manual.updateWithLength = Manual.updateWithSize

-- No time has passed since it was made: it has no rate, and no figure is "nan".
local function without_rate(self)
  for _, list in ipairs{self.mpps, self.mbit, self.wireMbit} do list[1] = 0 end
end

local function figures(self)
  for _, list in ipairs{self.mpps, self.mbit, self.wireMbit} do
    statistics.addStats(list, true)
  end
end

--- The rates of all intervals (lists with `avg`, `stdDev`, `median`, `sum`): packets in
--- millions a second, Mbit/s, Mbit/s with framing; and the packets and bytes in all.
--- `now`: up to now, rather than to the last update.
function Counter:getStats(now)
  if now then advance(self, clock.seconds(), self:getThroughput()) end
  figures(self)
  return self.mpps, self.mbit, self.wireMbit, self.total, self.totalBytes
end

--- Print the totals, after so many milliseconds in which packets may still come
--- (default: 100 for what a device received, 50 for what it sent, else 0). Rates of a
--- counter that never was updated are those since it was made.
function Counter:finalize(sleep_ms)
  if self.closed then
    error("a counter is finalized once, and its file is closed", 2)
  end
  clock.sleep((sleep_ms or self.sleep or 0) / 1000)
  local packets, bytes = self:getThroughput()
  if not self.lastUpdate then begin(self, self.began) end
  advance(self, clock.seconds(), packets, bytes, true)
  if #self.mpps == 0 then without_rate(self) end
  figures(self)
  self:print("final")
  if not self.closeFile then return end
  close(self.closeFile)
  self.closed = true
end

arguments.methods(Counter, "a counter", "current", {
  print = "string, any?", update = "", countPacket = "any?", getStats = "any?",
  finalize = "number?",
})
arguments.methods(Manual, "a counter", "current", {
  update = "number?, number?", updateWithSize = "number, number",
  updateWithLength = "number, number",
})

return M
