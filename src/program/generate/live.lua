-- SPDX-License-Identifier: Apache-2.0
-- What is sent and received so far, as a line of JSON each second, for a program that
-- follows the run.

local cjson = require("cjson")
local engine = require("core.app")
local failure = require("core.failure")
local files = require("core.lib.files")
local timer = require("core.timer")

local M = {}

local EVERY_S = 1

local Live = {}
Live.__index = Live

-- What an app has counted, and its rates since it was asked last.
local function counted(self, app, seconds)
  local packets, bits, lost = app:progress()
  local before = self.before[app] or {packets = 0, bits = 0}
  local function rate(now, was) return seconds > 0 and (now - was) / seconds or 0 end
  local now = {packets = packets, bits = bits, lost = lost,
    pps = rate(packets, before.packets), bit_rate = rate(bits, before.bits)}
  self.before[app] = {packets = packets, bits = bits}
  return now
end

local function sum(list, kind)
  local total
  for _, item in ipairs(list) do
    for key, value in pairs(item[kind] or {}) do
      total = total or {}
      total[key] = (total[key] or 0) + value
    end
  end
  return total
end

local function direction(self, d, seconds)
  local list, apps = {}, engine.app_table
  for i, lane in ipairs(d.lanes) do
    local generator, meter = apps[lane.generator], apps[lane.meter]
    list[i] = {name = lane.name,
      sent = generator and counted(self, generator, seconds),
      received = meter and counted(self, meter, seconds)}
  end
  if #list == 1 then return list[1] end
  return {sent = sum(list, "sent"), received = sum(list, "received"), streams = list}
end

local function write(self, object)
  files.append(self.file, self.name, cjson.encode(object) .. "\n")
end

local function tell(self)
  local now, list = engine.now(), {}
  for i, d in ipairs(self.directions) do
    list[i] = direction(self, d, now - self.told)
  end
  local object = #list == 1 and list[1] or {directions = list}
  object.seconds, self.told = now - self.began, now
  write(self, {progress = object})
end

--- Write to the file `name` ("-": standard output) a line each second from now on:
--- {"progress": {seconds, sent, received, streams}}, of the running apps of the
--- directions (program.generate.graph). Raises a sentence if it can't be opened; a line
--- that can't be written ends the run with one.
function M.start(directions, name)
  local file, problem = io.stdout, nil
  if name ~= "-" then file, problem = files.create(name) end
  if not file then failure.usage("can't write %s", problem) end
  local self = setmetatable({directions = directions, file = file, name = name,
    before = {}, began = engine.now(), told = engine.now()}, Live)
  self.timer = timer.new("lines of JSON", function () tell(self) end, EVERY_S * 1e9,
    "repeating")
  timer.activate(self.timer)
  return self
end

--- The last line: `text`, the results.
function Live:finish(text)
  timer.cancel(self.timer)
  files.append(self.file, self.name, text)
end

return M
