-- SPDX-License-Identifier: Apache-2.0
-- ToIPSummaryDump writes a line for each packet (click.summary).

local element = require("click.element")
local packet = require("core.packet")
local signals = require("click.router.signals")
local text_file = require("click.devices.text_file")
local text_of = require("click.language.text")
local Writer = require("click.summary.writer")

local ToIPSummaryDump = element.define{
  name = "ToIPSummaryDump", summary = "writes packet summary information to a file",
  division = "none", undivided = "it writes one file, in the order of packets",
  ports = "1/0-1", processing = "a/h", drops = {"written"}, emits = true,
  phase = element.WRITES, exclusive = true,
  arguments = {
    {"FILENAME", "filename", required = true},
    {"FIELDS", "argument", keyword = true},
    {"CONTENTS", "argument", keyword = true},
    {"DATA", "argument", keyword = true},
    {"VERBOSE", "bool", default = false, keyword = true},
    {"HEADER", "bool", default = true, keyword = true},
    {"BANNER", "string", keyword = true},
    {"MULTIPACKET", "bool", default = false, keyword = true},
    {"BAD_PACKETS", "bool", default = false, keyword = true},
    {"CAREFUL_TRUNC", "bool", default = true, keyword = true},
    {"EXTRA_LENGTH", "bool", default = true, keyword = true},
    {"BINARY", "bool", default = false, keyword = true},
  },
  handlers = {
    flush = element.command(function (self)
      if self.file then self.file:flush() end
    end),
  },
}

function ToIPSummaryDump:configure(a)
  local names = text_of.words(a.FIELDS or a.CONTENTS or a.DATA or "timestamp ip_src")
  self.writer = Writer.new(names, {
    bad = a.BAD_PACKETS, careful = a.CAREFUL_TRUNC, extra = a.EXTRA_LENGTH,
    binary = a.BINARY, multipacket = a.MULTIPACKET,
  }, self)
  self.options = a
  self.pulling = self.processing.inputs == "l"
end

-- What writes texts to the file; "-" is standard output.
local function open(self, name)
  if name == "-" then
    return function (text) self.router:print(text) end
  end
  local file, problem = text_file.open(self, name)
  if not file then return nil, problem end
  self.file = file
  return function (text) file:write(text) end
end

function ToIPSummaryDump:initialize()
  local a = self.options
  local write, problem = open(self, a.FILENAME)
  if not write then return self:error("%s", problem) end
  self.write = write
  if a.HEADER then
    write(self.writer:header{banner = a.BANNER, verbose = a.VERBOSE,
      time = a.VERBOSE and self.router:now()})
  end
  if self.pulling then
    self.signals = self.router:signals(self, 1)
    self:schedule()
  end
end

function ToIPSummaryDump:process(p)
  self.writer:add(p, self.write)
  if self.noutputs == 0 then return nil, 1 end
  return p
end

function ToIPSummaryDump:task()
  local p = self.pull_from[1]()
  if not p then
    if not signals.any(self.signals) then self:unschedule() end
    return false
  end
  self.writer:add(p, self.write)
  if self.noutputs == 0 then packet.free(p) else self.emit(1, p) end
  return true
end

function ToIPSummaryDump:cleanup()
  if self.file then self.file:close() end
  self.file = nil
end

return {ToIPSummaryDump}
