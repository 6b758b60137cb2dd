-- SPDX-License-Identifier: Apache-2.0
-- Tap: passes all packets on, and writes those that a filter accepts, or every so many
-- of them, to a savefile.

local C = require("core.native")
local clock = require("core.lib.clock")
local failure = require("core.failure")
local filter = require("lib.filter")
local lib = require("core.lib")
local link = require("core.link")
local writer = require("lib.pcap.writer")

local match = C.pg_filter

local Tap = {}
Tap.__index = Tap

local MODES = {truncate = false, append = true}
local options = {
  filename = {required = true},
  mode = {default = "truncate"},
  filter = {},
  sample = {default = 1},
}

--- `filename`: the savefile; `mode`: "truncate" or "append"; `filter`: an expression of
--- pcap-filter(7); `sample`: write the first of every so many that it accepts.
function Tap:new(conf)
  local o = lib.parse(conf, options)
  if MODES[o.mode] == nil then
    failure.usage("Tap has no mode '%s'; there are truncate and append",
      tostring(o.mode))
  elseif type(o.sample) ~= "number" or o.sample < 1 or o.sample % 1 ~= 0 then
    failure.usage("Tap can't write every %s. packet; give a whole number from 1 on",
      tostring(o.sample))
  end
  return setmetatable({
    match = filter.new(o.filter or ""),
    file = writer.new(o.filename, {append = MODES[o.mode]}),
    sample = o.sample,
    n = o.sample - 1, -- packets since the last one written
  }, self)
end

--- The file goes on, and so does the count of every so many.
function Tap.reconfig_keeps(fresh, running)
  fresh.n = math.min(running.n, fresh.sample - 1)
  return {"file"}
end

--- Another file is another app.
function Tap.reconfig_restarts(before, after)
  return before.filename ~= after.filename or before.mode ~= after.mode
end

--- Create the file. Raises a failure when it can't be written.
function Tap:begin() self.file:create() end

local function pass(self, input, output, n, time)
  local file, accepted, sample = self.file, self.n, self.sample
  for _ = 1, n do
    local p = link.receive(input)
    if match(self.match, p.data, p.length) ~= 0 then
      accepted = accepted + 1
      if accepted == sample then
        accepted = 0
        file:write(p.data, p.length, p.length, time)
      end
    end
    link.transmit(output, p)
  end
  self.n = accepted
end

Tap.needs_packets = true

function Tap:push()
  local input = self.input.input
  local n = link.nreadable(input)
  if n == 0 then return end
  pass(self, input, self.output.output, n, clock.unix_nanoseconds())
  self.file:flush()
end

function Tap:stop() self.file:close() end

return {Tap = Tap}
