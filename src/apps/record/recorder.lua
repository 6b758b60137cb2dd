-- SPDX-License-Identifier: Apache-2.0
-- Recorder: keeps the last packets of its inputs in a ring in memory, and writes those
-- around a trigger to a file (pcapng): a packet that a filter accepts, or a call of
-- trigger().

local ffi = require("ffi")
local C = require("core.declare")("apps/record/record.h")
local failure = require("core.failure")
local files = require("core.lib.files")
local filter = require("lib.filter")
local flows = require("apps.record.flows")
local format = require("lib.pcap.format")
local link = require("core.link")
local memory = require("apps.record.memory")
local packet = require("core.packet")
local recording = require("apps.record.recording")

local free, receive, nreadable = packet.free, link.receive, link.nreadable

local LEAST_MEMORY, PAGE = 1024 * 1024, 4096
local NANOSECONDS = 1e9
local ALL = -1ULL

local Recorder = {
  config = {
    inputs = {required = true}, folder = {default = "."}, name = {default = "record"},
    memory = {default = 64 * 1024 * 1024}, snaplen = {default = format.MAX_CAPTURED},
    filter = {}, before = {}, after = {default = 0}, files = {default = math.huge},
    titles = {}, missed = {}, flows = {},
  },
}
Recorder.__index = Recorder
Recorder.division = "none"
Recorder.undivided = "one ring has all packets, in their order"

local function check_inputs(names)
  if type(names) ~= "table" or #names < 1 or #names > C.RECORD_INPUTS then
    failure.usage("a Recorder's `inputs` are a list of 1 to %d names of links",
      C.RECORD_INPUTS)
  end
end

local function check_seconds(what, n)
  if type(n) ~= "number" or not (n >= 0 and n <= 1e9) then
    failure.usage("a Recorder's `%s` is a number of seconds from 0 on, not '%s'", what,
      tostring(n))
  end
end

local function check(arg)
  check_inputs(arg.inputs)
  local bytes = tonumber(arg.memory) or 0
  if bytes ~= bytes or bytes < LEAST_MEMORY then
    failure.usage("a Recorder's memory is at least 1 MiB, not '%s'",
      tostring(arg.memory))
  end
  if arg.before then check_seconds("before", arg.before) end
  check_seconds("after", arg.after)
  memory.check(arg.memory, "a ring")
end

local function ns(seconds) return ffi.cast("uint64_t", seconds * NANOSECONDS) end

local function ring_of(arg)
  local size = math.floor(arg.memory / PAGE) * PAGE
  local ring = C.pg_record_new(size, arg.snaplen)
  if ring == nil then failure.raise("%s", ffi.string(C.pg_error())) end
  ring.before = arg.before and ns(arg.before) or ALL
  ring.after = ns(arg.after)
  return ffi.gc(ring, C.pg_record_free)
end

--- Recorder{inputs = {NAME, ...}, memory = BYTES, ...}: the README tells.
function Recorder:new(arg)
  check(arg)
  if not files.can_write(arg.folder .. "/" .. arg.name) then
    failure.raise("can't write files in the folder '%s': give one that is there, and "
      .. "that you may write to", arg.folder)
  end
  local accepts = arg.filter and filter.new(arg.filter)
  local ring = ring_of(arg)
  if accepts then ring.filter = accepts end
  return setmetatable({
    ring = ring, flows = arg.flows and flows.new(arg.flows, arg.titles or arg.inputs),
    shm = arg.flows and flows.counters(),
    names = arg.inputs, titles = arg.titles or arg.inputs,
    folder = arg.folder, name = arg.name,
    accepts = accepts, most = arg.files, started = 0, known = {},
    missed = arg.missed or function () return 0 end,
    open = {}, results = {},
  }, self)
end

-- Packets -------------------------------------------------------------------------

--- The engine tells which links there are.
function Recorder:link()
  self.links = {}
  for i, name in ipairs(self.names) do
    local l = self.input[name]
    if l then table.insert(self.links, {link = l, number = i - 1}) end
  end
end
Recorder.unlink = Recorder.link

local function free_all(l, n)
  for _ = 1, n do free(receive(l)) end
end

Recorder.needs_packets = true

--- Keep what has come.
function Recorder:push()
  local links, ring, metered = self.links, self.ring, self.flows
  for i = 1, #links do
    local l, number = links[i].link, links[i].number
    local n = nreadable(l)
    if n > 0 then
      if metered then metered:take(l, n, number) end
      C.pg_record_take(ring, l, n, number)
      free_all(l, n)
    end
  end
end

-- Files ---------------------------------------------------------------------------

local function path_of(self, job, by)
  local seconds = tonumber(job.trigger / 1000000000ULL)
  return ("%s/%s-%s-%04d-%s.pcapng"):format(self.folder, self.name,
    os.date("!%Y%m%dT%H%M%SZ", seconds), self.started, by)
end

local function begin(self, job, by)
  self.started = self.started + 1
  local file = recording.new(self, job, path_of(self, job, by), by)
  table.insert(self.open, file)
  self.known[tonumber(ffi.cast("intptr_t", job))] = file
  if self.started >= self.most then self.ring.most_jobs = 0 end
  return file
end

-- Files for the jobs that packets have begun.
local function look_for_matches(self)
  local ring = self.ring
  for i = 0, C.RECORD_JOBS - 1 do
    local job = ring.job + i
    local key = tonumber(ffi.cast("intptr_t", job))
    local has = job.in_use ~= 0
    if has and not self.known[key] and self.started >= self.most then
      C.pg_record_end(ring, job)
      ring.refused = ring.refused + 1
    elseif has and not self.known[key] then
      begin(self, job, "filter")
    end
  end
end

--- Write the packets from `before` seconds before now (nil: as the argument says) to
--- `after` seconds behind it to a file. `by` is a word for its name. Returns the path;
--- nil if there are as many files as there may be.
function Recorder:trigger(by, before, after)
  local ring = self.ring
  if before then check_seconds("before", before) end
  if after then check_seconds("after", after) end
  look_for_matches(self)
  local job = C.pg_record_begin(ring, before and ns(before) or ring.before,
    after and ns(after) or ring.after)
  if job == nil then return nil end
  return begin(self, job, by).path
end

local function ended(self, i)
  local file = table.remove(self.open, i)
  self.known[tonumber(ffi.cast("intptr_t", file.job))] = nil
  table.insert(self.results, file.result)
  if self.on_file then self.on_file(file.result) end
end

--- Write some of what there is to be written, and end flows whose time is over. Whoever
--- runs the engine calls it between breaths; tick() does, too. False: there is more.
function Recorder:work()
  local waits = not self.flows or self.flows:work()
  if self.ring.jobs == 0 then return waits end
  look_for_matches(self)
  for i = #self.open, 1, -1 do
    local file = self.open[i]
    if file:work() then ended(self, i) else waits = waits and file:waits() end
  end
  return waits
end

Recorder.tick_seconds = 0.25

--- Work, and let others see counters.
function Recorder:tick()
  self:work()
  if self.flows then self.flows:count(self.shm) end
end

--- Write all files to their ends, with what has come so far; all flows end.
function Recorder:finish()
  if not self.ring then return end
  look_for_matches(self)
  for i = #self.open, 1, -1 do
    self.open[i]:finish()
    ended(self, i)
  end
  if self.flows then
    self.flows:finish()
    self.flows:count(self.shm)
  end
end

--- How many seconds of packets the ring has.
function Recorder:seconds()
  local oldest = C.pg_record_oldest(self.ring)
  return oldest == 0 and 0 or tonumber(self.ring.newest - oldest) / NANOSECONDS
end

--- Close all files.
function Recorder:stop() self:finish() end

return {Recorder = Recorder}
