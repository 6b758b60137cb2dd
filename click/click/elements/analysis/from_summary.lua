-- SPDX-License-Identifier: Apache-2.0
-- FromIPSummaryDump makes packets of a summary dump's lines (click.summary).

local element = require("click.element")
local Lines = require("click.summary.lines")
local packet = require("core.packet")
local Reader = require("click.summary.reader")
local Repeats = require("click.summary.repeats")
local text_of = require("click.language.text")
local timing = require("click.summary.timing")

local FIXED_POINT = 2 ^ 28 -- of the sampling probability

local function set_active(self)
  if not self:is_pushing() then
    self.signal:set(self.active)
  elseif self.active then
    self:schedule()
  end
end

local function file_handler(which)
  return {read = function (self)
    local size, at = nil, 0
    if self.lines then size, at = self.lines:size() end
    if which == "position" then return at or "-" end
    return size or "-"
  end}
end

local FromIPSummaryDump = element.define{
  name = "FromIPSummaryDump", summary = "reads packets from an IP summary dump file",
  ports = "0/1", emits = true, notifies = "empty", task_can_wait = true,
  arguments = {
    {"FILENAME", "filename"},
    {"STOP", "bool", default = false, keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
    {"ZERO", "bool", default = true, keyword = true},
    {"TIMING", "bool", default = false, keyword = true},
    {"CHECKSUM", "bool", default = false, keyword = true},
    {"SAMPLE", "real", default = 1, min = 0, keyword = true},
    {"PROTO", "unsigned", default = 6, max = 255, keyword = true},
    {"MULTIPACKET", "bool", default = false, keyword = true},
    {"DEFAULT_CONTENTS", "argument", keyword = true},
    {"DEFAULT_FIELDS", "argument", keyword = true},
    {"DEFAULT_FLOWID", "argument", keyword = true},
    {"CONTENTS", "argument", keyword = true},
    {"FIELDS", "argument", keyword = true},
    {"FLOWID", "argument", keyword = true},
    {"IPV6", "bool", default = false, keyword = true},
    {"DEFAULT_FLOWID6", "argument", keyword = true},
    {"FLOWID6", "argument", keyword = true},
    {"ALLOW_NONEXISTENT", "bool", default = false, keyword = true},
    {"DATA", "string", keyword = true},
    {"BURST", "unsigned", default = 1, min = 1, keyword = true},
    {"MIGRATE", "bool", keyword = true},
    {"TIMESTAMP", "bool", default = true, keyword = true},
    {"TIMES", "int", default = 1, keyword = true},
  },
  notes = "FLOWID says which addresses and ports packets have that don't say theirs "
    .. "(1.0.0.1 1000 2.0.0.2 53 U; the protocol may be left out), as a line with "
    .. "!flowid does. With IPV6 packets have an IPv6 header, with the addresses of "
    .. "FLOWID6 or of a line with !flowid6; fields of TCP, UDP, ip_proto and payload "
    .. "are those of lines.",
  differs = "With IPV6, ports, TCP and payload follow the lines, and an Ethernet type "
    .. "isn't needed (FastClick makes headers only behind one, and those are zeros).",
  handlers = {
    active = element.data("active", "bool", set_active),
    sampling_prob = {read = function (self) return self.probability / FIXED_POINT end},
    encap = {read = function () return "IP" end},
    filename = {read = function (self) return self.arguments_given.FILENAME or "" end},
    filesize = file_handler("size"), filepos = file_handler("position"),
    stop = element.command(function (self)
      self.active = false
      self.router:stop()
    end),
  },
}

function FromIPSummaryDump:configure(a)
  if a.DATA and a.FILENAME then return self:error("FILENAME and DATA conflict") end
  if not a.DATA and not a.FILENAME then
    return self:error("FILENAME: required argument missing")
  end
  if a.SAMPLE > 1 then
    self:warning("SAMPLE probability reduced to 1")
  elseif a.SAMPLE == 0 then
    self:warning("SAMPLE probability is 0; emitting no packets")
  end
  self.probability = math.floor(math.min(a.SAMPLE, 1) * FIXED_POINT + 0.5)
  self.active, self.burst, self.arguments_given = a.ACTIVE, a.BURST, a
end

-- Tell of a problem in the file: under the element's heading while it is made.
local function tell(self)
  return function (kind, landmark, message)
    if not self.running and self.errors then
      local reporter = self.errors:at(landmark)
      reporter[kind](reporter, "%s", message)
    elseif not self.running then
      self[kind](self, "%s: %s", landmark, message)
    else
      self:say("%s: %s%s", landmark, kind == "warning" and "warning: " or "", message)
    end
  end
end

-- The lines to read; nil if there are none, which may be an error.
local function open(self, a)
  if a.DATA then return Lines.of_text(a.DATA) end
  local lines, problem = Lines.open(a.FILENAME)
  if not lines and not a.ALLOW_NONEXISTENT then self:error("%s", problem) end
  return lines
end

--- The reader of self.lines; say(kind, landmark, text) gets what is wrong with them.
function FromIPSummaryDump:make_reader(say)
  local a = self.arguments_given
  local reader = Reader.new(self.lines, self, {
    checksums = a.CHECKSUM, protocol = a.PROTO, times = a.TIMES, say = say,
    ip6 = a.IPV6,
  })
  local names = a.FIELDS or a.CONTENTS or a.DEFAULT_FIELDS or a.DEFAULT_CONTENTS
  if names then reader:set_fields(text_of.words(names)) end
  local flow, flow6 = a.FLOWID or a.DEFAULT_FLOWID, a.FLOWID6 or a.DEFAULT_FLOWID6
  if flow then reader:set_flow(text_of.words(flow)) end
  if flow6 then reader:set_flow(text_of.words(flow6), true) end
  return reader
end

function FromIPSummaryDump:initialize()
  local a = self.arguments_given
  self.lines = open(self, a)
  if self.lines then
    self.reader = self:make_reader(tell(self))
    self.reader:begin()
  end
  self.repeats = a.MULTIPACKET and Repeats.new(a.TIMESTAMP)
  self.timing = a.TIMING and timing.new(self.router, function ()
    if self.active then set_active(self) end
  end)
  self.running = true
  if self:is_pushing() and self.active then self:schedule() end
end

local function finish(self)
  if self.reader then
    self.lines:close()
    self.reader = nil
  end
  if not self:is_pushing() then self.signal:set(false) end
  if self.arguments_given.STOP then self.router:stop() end
end

local function is_chosen(self)
  return self.probability >= FIXED_POINT
    or math.random(0, FIXED_POINT - 1) < self.probability
end

-- The next packet whose time has come, or nil; then the second result says why: "end",
-- "wait", or "line" if a line wasn't a packet.
local function next_packet(self)
  while true do
    local p = self.repeats and self.repeats:next()
    if not p then
      p = self.waiting
      self.waiting = nil
      local at_end = not self.reader
      if not p and not at_end then p, at_end = self.reader:next() end
      if not p then return nil, at_end and "end" or "line" end
      if self.timing and not self.timing:is_due(p) then
        self.waiting = p
        return nil, "wait"
      end
      if self.repeats then p = self.repeats:begin(p) end
    end
    if is_chosen(self) then return p end
    packet.free(p)
  end
end

function FromIPSummaryDump:task()
  local sent = 0
  while self.active and sent < self.burst do
    local p, why = next_packet(self)
    if p then
      self.emit(1, p)
      sent = sent + 1
    elseif why ~= "line" then
      self:unschedule()
      if why == "end" then finish(self) end
      return sent > 0
    end
  end
  if not self.active then self:unschedule() end
  return sent > 0
end

function FromIPSummaryDump:pull()
  while self.active do
    local p, why = next_packet(self)
    if p then return p end
    if why == "end" then return finish(self) end
    if why == "wait" then
      self.signal:set(false)
      return nil
    end
  end
  return nil
end

--- Are packets of the file to come (click.router.run_out)?
function FromIPSummaryDump:backlog() return self.reader and self.active and 1 or 0 end

function FromIPSummaryDump:cleanup()
  if self.reader then self.lines:close() end
  if self.repeats then self.repeats:free() end
  if self.waiting then packet.free(self.waiting) end
  self.reader, self.waiting = nil, nil
end

return {FromIPSummaryDump}
