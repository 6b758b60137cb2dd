-- SPDX-License-Identifier: Apache-2.0
-- FromDump reads packets from capture files: pcap and pcapng, compressed ones too.

local C = require("core.declare")("net/checksum/checksum.h")
local chance = require("click.chance")
local element = require("click.element")
local expressions = require("click.traffic.expressions")
local failure = require("core.failure")
local ffi = require("ffi")
local frames = require("click.traffic.frames")
local link_layers = require("click.devices.link_layers")
local note = require("click.note")
local opening = require("click.devices.compressed")
local packet = require("core.packet")
local reader = require("lib.pcap.reader")
local stat = require("posix.sys.stat")

local MAC, NETWORK = note.MAC_HEADER, note.NETWORK_HEADER
local TIMESTAMP, EXTRA_LENGTH = note.TIMESTAMP, note.EXTRA_LENGTH
local RAW = link_layers.number("IP")
local NANOSECONDS = 1e9

local from_pointer, clear, resize = packet.from_pointer, note.clear, packet.resize

-- Call f(...); its results, or nil and the failure as text.
local function try(f, ...)
  local ok, result, more, third, fourth = pcall(f, ...)
  if ok then return result, more, third, fourth end
  if failure.is(result) then return nil, tostring(result) end
  error(result, 0)
end

local ASIS, REAL = -1, 0 -- values of FORCE_LEN
local SHORTEST, LONGEST = 60, 9600
local TRIES = 16 -- packets that are left out in one go

local FromDump = element.define{
  name = "FromDump", summary = "reads packets from a capture file", notifies = "empty",
  ports = "0/1-2", processing = "a/ah", emits = true, task_can_wait = true,
  arguments = {
    {"FILENAME", "filename", required = true}, {"TIMING", "bool", default = false},
    {"STOP", "bool", default = false, keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
    {"SAMPLE", "real", default = 1, min = 0, keyword = true},
    {"FORCE_IP", "bool", default = false, keyword = true},
    {"FORCE_LEN", "int", default = ASIS, keyword = true},
    {"START", "seconds", keyword = true}, {"START_AFTER", "seconds", keyword = true},
    {"END", "seconds", keyword = true}, {"END_AFTER", "seconds", keyword = true},
    {"INTERVAL", "seconds", keyword = true}, {"END_CALL", "argument", keyword = true},
    {"ACCELERATION", "unsigned", default = 100, keyword = true},
    {"TIMING_FNT", "string", keyword = true}, {"MMAP", "bool", keyword = true},
    {"BURST", "unsigned", default = 32, keyword = true},
    {"PRELOAD", "unsigned", keyword = true}, {"PER_NODE", "bool", keyword = true},
    {"FILEPOS", "unsigned", default = 0, keyword = true},
  },
  notes = "It pushes BURST packets in a turn, as FastClick's. Click's pushes 1: with "
    .. "BURST 1 a Queue in front of an Unqueue doesn't overflow.",
}

local function count_given(a, b, c)
  return (a and 1 or 0) + (b and 1 or 0) + (c and 1 or 0)
end

-- What is wrong with the arguments as a whole.
local function contradiction(a)
  if count_given(a.START, a.START_AFTER) > 1 then
    return "START and START_AFTER are mutually exclusive"
  elseif count_given(a.END, a.END_AFTER, a.INTERVAL) > 1 then
    return "END, END_AFTER, and INTERVAL are mutually exclusive"
  elseif a.STOP and a.END_CALL then
    return "END_CALL and STOP are mutually exclusive"
  elseif a.FORCE_LEN > REAL and (a.FORCE_LEN < SHORTEST or a.FORCE_LEN > LONGEST)
      or a.FORCE_LEN < ASIS then
    return "FORCE_LEN requires a valid frame size"
  elseif a.FILEPOS > 0 then
    return "FILEPOS isn't supported"
  end
end

function FromDump:configure(a)
  local problem = contradiction(a)
  if problem then return self:error("%s", problem) end
  self.filename, self.timing, self.active = a.FILENAME, a.TIMING, a.ACTIVE
  self.sample, self.force_ip, self.force_length = a.SAMPLE, a.FORCE_IP, a.FORCE_LEN
  self.times = {start = a.START, start_after = a.START_AFTER, ending = a.END,
    end_after = a.END_AFTER, interval = a.INTERVAL}
  self.end_call = a.END_CALL or a.STOP and self.name .. ".stop"
    or count_given(a.END, a.END_AFTER, a.INTERVAL) > 0 and self.name .. ".active false"
  self.acceleration, self.burst, self.count = a.ACCELERATION, math.max(a.BURST, 1), 0
  if a.TIMING_FNT and a.TIMING_FNT ~= "" then
    self.timing_of = expressions.compile(a.TIMING_FNT)
    if not self.timing_of then
      self:error("TIMING_FNT: can't understand '%s'", a.TIMING_FNT)
    end
  end
end

local function open(self)
  local path, unpacking = opening.path(self.filename)
  if not path then return nil, unpacking end
  local options = {any_link = true, name = unpacking and self.filename}
  local file, problem = try(reader.open, path, options)
  if not file then return nil, unpacking and unpacking:close(true) or problem end
  self.file, self.unpacking = file, unpacking
  self.layer = link_layers.usual(file.linktype or 1)
  return true
end

local function wake(self)
  if self:is_pushing() then self:schedule() else self.signal:set(true) end
end

function FromDump:initialize()
  local ok, problem = open(self)
  if not ok then return self:error("%s", problem) end
  if self.force_ip and not link_layers.may_hold_ip(self.layer) then
    return self:error("%s: unknown linktype %d; can't force IP packets", self.filename,
      self.layer)
  end
  if self.end_call then
    self.at_end, problem = self.router:writer(self.end_call, self)
    if not self.at_end then return self:error("%s", problem) end
  end
  self.timer = self.router:timer(function () wake(self) end)
  if self:is_pushing() and self.active then self:schedule() end
end

-- Close the file. If all was read (`at_end`), why that isn't all of it; or nil.
local function close(self, at_end)
  if self.file then self.file:close() end
  local problem = self.unpacking and self.unpacking:close(at_end)
  self.file, self.unpacking = nil, nil
  return problem
end

function FromDump:cleanup()
  close(self)
  if self.hand then packet.free(self.hand) end
  self.hand = nil
end

--- Are packets of the file to come (click.router.run_out)?
function FromDump:backlog() return self.file and self.active and 1 or 0 end

-- Reading -------------------------------------------------------------------------

-- The file's first packet tells what relative times are relative to.
local function settle_times(self, time)
  local t = self.times
  self.first = t.start or t.start_after and time + t.start_after
  self.last = t.ending or t.end_after and time + t.end_after
    or t.interval and (self.first or time) + t.interval
  self.settled = true
end

-- Is a packet of this time wanted: true, false, or nil if the end is there?
local function is_wanted(self, time)
  if not self.settled then settle_times(self, time) end
  if self.first then
    if time < self.first then return false end
    self.first = nil
  end
  while self.last and time >= self.last do
    self.last_time = self.last
    self.last = nil
    self.at_end()
    if not self.active then return nil end
  end
  return self.sample >= 1 or chance.happens(self.sample)
end

-- How long the packet is to be, of which `captured` of `wire` bytes are there.
local function wanted_length(self, captured, wire)
  local wanted = self.force_length
  if wanted == ASIS then return captured end
  if wanted == REAL then wanted = wire end
  if self.layer == RAW then wanted = wanted - 14 end
  return math.min(wanted, packet.max_payload)
end

-- Change the packet's length, and that in its IP header.
local function adjust_length(self, p, length)
  resize(p, length)
  local at = self.layer == RAW and 0 or 14
  if length < at + 20 or bit.rshift(p.data[at], 4) ~= 4 then return end
  frames.put16(p.data, at + 2, length - at)
  frames.put16(p.data, at + 10, 0)
  frames.put16(p.data, at + 10, C.pg_checksum(p.data + at, p.data[at] % 16 * 4, 0))
end

local function make_packet(self, pointer, captured, wire, time)
  local length = wanted_length(self, captured, wire)
  local p = from_pointer(pointer, math.min(captured, packet.max_payload))
  clear(p)
  if length ~= p.length then adjust_length(self, p, length) end
  p.note64[TIMESTAMP] = ffi.cast("uint64_t", time)
  p.note32[EXTRA_LENGTH] = math.max(wire - length, 0)
  p.note16[self.layer == RAW and NETWORK or MAC] = p.data_off
  return p
end

-- No packet follows, for good.
local function finish(self, problem)
  problem = close(self, not problem) or problem
  if problem then self:failed_to(problem) end
end

-- Have a packet at hand, unless the next ones aren't wanted. False at the end.
local function read(self)
  for _ = 1, TRIES do
    if self.hand or not self.file then return self.hand ~= nil end
    local pointer, captured, wire, time = try(self.file.next, self.file)
    if not pointer then
      finish(self, captured)
      return false
    end
    captured = math.min(captured, wire)
    local wanted = is_wanted(self, tonumber(time) / NANOSECONDS)
    if wanted == nil then return false end
    if wanted then self.hand = make_packet(self, pointer, captured, wire, time) end
  end
  return true
end

-- Timing --------------------------------------------------------------------------

-- How many seconds are left until the packet's time; 0 or less when it has come.
local function seconds_left(self, p)
  local time, now = ffi.cast("int64_t", p.note64[TIMESTAMP]), self.router:steady()
  if not self.base_time then self.base_time, self.base_real = time, now end
  self.started = self.started or now
  if self.timing_of then
    local wanted = math.floor(self.timing_of(now - self.started) or 0)
    if wanted ~= self.acceleration then
      local passed = (now - self.base_real) * self.acceleration / 100
      self.base_time = self.base_time + ffi.cast("int64_t", passed * NANOSECONDS)
      self.base_real, self.acceleration = now, wanted
    end
  end
  if self.acceleration <= 0 then return math.huge end
  local since = tonumber(time - self.base_time) / NANOSECONDS
  return since * 100 / self.acceleration - (now - self.base_real)
end

-- The packet at hand, if its time has come; else it says when.
local function due(self)
  local p = self.hand
  if not p then return nil end
  if self.timing then
    local left = seconds_left(self, p)
    if left > 0 then
      if left < math.huge then self.timer:after(left) end
      return nil, true
    end
  end
  self.hand = nil
  return p
end

-- Giving --------------------------------------------------------------------------

-- The next packet; or nil, and whether to ask again later, by itself.
local function next_packet(self)
  if not self.active then return nil, true end
  if not read(self) then
    if self.active and self.at_end then self.at_end() end
    return nil, true
  end
  local p, later = due(self)
  if not p then return nil, later end
  if self.force_ip and not link_layers.find_ip(p, self.layer) then
    if self.noutputs > 1 then self.emit(2, p) else packet.free(p) end
    return nil, false
  end
  self.count = self.count + 1
  return p
end

function FromDump:task()
  local emit = self.emit
  for i = 1, self.burst do
    local p, later = next_packet(self)
    if p then
      emit(1, p)
    elseif later then
      self:unschedule()
      return i > 1
    end
  end
  return true
end

function FromDump:pull()
  for _ = 1, TRIES do
    local p, later = next_packet(self)
    if p then return p end
    if later then
      self.signal:set(false)
      return nil
    end
  end
  return nil
end

-- Handlers ------------------------------------------------------------------------

local function set_active(self, active)
  self.active = active
  if active then wake(self) elseif self:is_pushing() then self:unschedule() end
end

local function size(self)
  local is_plain = self.filename ~= "-" and not self.unpacking
  local found = is_plain and stat.stat(self.filename)
  return found and found.st_size or "-"
end

FromDump.handlers = {
  count = element.data("count"), filename = element.data("filename"),
  sampling_prob = element.data("sample"),
  encap = {read = function (self) return link_layers.name(self.layer) end},
  filesize = {read = size},
  active = {
    read = function (self) return self.active end,
    write = function (self, text)
      local active = require("click.arguments").types.bool(text)
      if active == nil then return "type mismatch" end
      set_active(self, active)
    end,
  },
  stop = element.command(function (self)
    set_active(self, false)
    self.router:stop()
  end),
  reset_counts = element.command(function (self) self.count = 0 end),
  reset_timing = element.command(function (self)
    self.times, self.settled, self.base_time = {}, false, nil
  end),
  extend_interval = {write = function (self, text)
    local seconds = require("click.arguments").types.seconds(text, {})
    if not seconds then return "'extend_interval' takes a time interval" end
    local last = self.last or self.last_time
    if last then
      self.last = last + seconds
      set_active(self, true)
    end
  end},
}

return {FromDump}
