-- SPDX-License-Identifier: Apache-2.0
-- ToDump writes packets to a capture file.

local element = require("click.element")
local failure = require("core.failure")
local ffi = require("ffi")
local link_layers = require("click.devices.link_layers")
local note = require("click.note")
local opening = require("click.devices.compressed")
local packet = require("core.packet")
local signals = require("click.router.signals")
local writer = require("lib.pcap.writer")

local TIMESTAMP, EXTRA_LENGTH = note.TIMESTAMP, note.EXTRA_LENGTH
local LONGEST = 262144 -- bytes of a packet in such files

-- Call f(...); its result, or nil and the failure as text.
local function try(f, ...)
  local ok, result = pcall(f, ...)
  if ok then return result end
  if failure.is(result) then return nil, tostring(result) end
  error(result, 0)
end

local ToDump = element.define{
  name = "ToDump", summary = "writes packets to a capture file",
  division = "none", undivided = "it writes one file, in the order of packets",
  ports = "1/0-1", processing = "a/a", emits = true, phase = element.WRITES,
  arguments = {
    {"FILENAME", "filename", required = true},
    {"SNAPLEN", "unsigned", default = 2000},
    {"ENCAP", "word"},
    {"USE_ENCAP_FROM", "element", list = true, keyword = true},
    {"EXTRA_LENGTH", "bool", default = true, keyword = true},
    {"UNBUFFERED", "bool", default = false, keyword = true},
    {"NANO", "bool", default = false, keyword = true},
    {"FORCE_TS", "bool", default = false, keyword = true},
    {"PER_NODE", "bool", keyword = true}, -- for ns-3's nodes
  },
  handlers = {
    count = element.data("count"), filename = element.data("filename"),
    reset_counts = element.command(function (self) self.count = 0 end),
    flush = element.command(function (self)
      if self.file then self.file:flush() end
    end),
  },
}

function ToDump:configure(a)
  self.filename, self.snaplen = a.FILENAME, a.SNAPLEN
  self.sources, self.extra_length, self.nano = a.USE_ENCAP_FROM, a.EXTRA_LENGTH, a.NANO
  self.unbuffered, self.force_time, self.count = a.UNBUFFERED, a.FORCE_TS, 0
  if a.ENCAP and a.USE_ENCAP_FROM then
    return self:error("specify at most one of 'ENCAP' and 'USE_ENCAP_FROM'")
  end
  self.layer = link_layers.number(a.ENCAP or "ETHER")
  if not self.layer then self:error("bad encapsulation type") end
end

-- The link layer that all elements of USE_ENCAP_FROM name.
local function agree(self)
  local link
  for _, source in ipairs(self.sources) do
    local text = self.router:handler_read(source.name .. ".encap")
    local its = text and link_layers.number(text)
    if not its then
      self:error("'%s :: %s' has no 'encap' read handler", source.name,
        source.class.name)
      return nil
    elseif link and its ~= link then
      self:error("source encapsulation types disagree")
      return nil
    end
    link = its
  end
  return link
end

function ToDump:initialize()
  if self.sources then
    self.layer = agree(self)
    if not self.layer then return end
  end
  local problem
  self.file, problem = try(writer.open, opening.output(self.filename), {
    linktype = self.layer, resolution = self.nano and "ns" or "us",
    snaplen = self.snaplen > 0 and math.min(self.snaplen, LONGEST) or nil,
    anew = self.router.old ~= nil,
  })
  if not self.file then return self:error("%s", problem) end
  if self.processing.inputs == "l" and self.noutputs == 0 then
    self.upstream = self.router:signals(self, 1)
    self:schedule()
  end
end

local function write(self, p)
  local time = ffi.cast("int64_t", p.note64[TIMESTAMP])
  if time == 0 and not self.force_time then time = self.router:nanoseconds() end
  local wire = p.length + (self.extra_length and p.note32[EXTRA_LENGTH] or 0)
  self.file:write(p.data, p.length, wire, time)
  if self.unbuffered then self.file:flush() end
  self.count = self.count + 1
end

-- What couldn't be written is said once; the exit status tells, too.
local function complain(self, problem)
  if not problem or self.failed then return end
  self.failed = true
  self:failed_to(problem)
end

function ToDump:process(p)
  local _, problem = try(write, self, p)
  complain(self, problem)
  if self.noutputs > 0 then return p end
  packet.free(p)
  return false
end

function ToDump:task()
  local p = self.pull_from[1]()
  if p then
    self:process(p)
  elseif not signals.any(self.upstream) then
    self:unschedule()
  end
  return p ~= nil
end

function ToDump:cleanup()
  if not self.file then return end
  local _, problem = try(self.file.close, self.file)
  complain(self, problem)
end

return {ToDump}
