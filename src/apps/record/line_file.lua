-- SPDX-License-Identifier: Apache-2.0
-- Flows that have ended as lines of JSON in a file: an exporter of net.metering.meter.
-- What can't be written (a full disk) is counted; the file ends with a whole line.

local cjson = require("cjson")
local log = require("core.lib.log")
local meter = require("net.metering.meter")
local output = require("lib.pcap.output")

local C = meter.native

local line_file = {}

local EVERY_S = 1 -- at most so long flows wait to be written

local LineFile = {}
LineFile.__index = LineFile

--- The file at `path`, made or emptied. `titles`: the inputs' names, in their order.
function line_file.open(path, titles)
  local names, longest = {}, 0
  for i, title in ipairs(titles) do
    names[i - 1] = cjson.encode(title)
    longest = math.max(longest, #names[i - 1])
  end
  return setmetatable({path = path, out = output.open(path), names = names, lost = 0,
    room = C.METER_LINE_MOST + longest, due = 0}, LineFile)
end

local function give_up(self, problem)
  self.failure = tostring(problem)
  log.warning("%s: other flows are only counted", self.failure)
end

local function write(self, records, n)
  for i = 0, n - 1 do
    local e, out = records[i], self.out
    out:commit(C.pg_meter_line(e, self.names[e.key.input], out:reserve(self.room),
      self.room))
    self.taken = i + 1
  end
end

--- Write the n records (struct meter_ended *).
function LineFile:put(records, n)
  self.taken = 0
  if not self.failure then
    local ok, problem = pcall(write, self, records, n)
    if not ok then give_up(self, problem) end
  end
  self.lost = self.lost + n - self.taken
end

local function try(self, method)
  if self.failure then return end
  local ok, problem = pcall(self.out[method], self.out)
  if not ok then give_up(self, problem) end
end

--- Let others read what was put, now and then: `now` in seconds.
function LineFile:work(now)
  if now < self.due then return end
  self.due = now + EVERY_S
  try(self, "flush")
end

--- Write all, and close it.
function LineFile:finish()
  try(self, "flush")
  pcall(self.out.close, self.out)
end

--- What became of flows: `written`, `not_written`, and `failure`, a sentence.
function LineFile:told()
  return {file = self.path, written = self.out.written,
    not_written = self.lost + self.out.lost, failure = self.failure}
end

return line_file
