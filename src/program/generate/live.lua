-- SPDX-License-Identifier: Apache-2.0
-- What is sent and received so far, for a program that follows the run: when it asks,
-- or as a line of JSON each second.

local cjson = require("cjson")
local engine = require("core.app")
local failure = require("core.failure")
local files = require("core.lib.files")
local timer = require("core.timer")

local M = {}

local EVERY_S = 1

local Live = {}
Live.__index = Live

-- What the app of that name has counted, and its rates since it was asked last; nil if
-- there is none.
local function counted(self, name, seconds)
  local app = engine.app_table[name]
  if not app then return nil end
  local packets, bits, lost = app:progress()
  local before = self.before[name] or {packets = 0, bits = 0}
  local function rate(now, was) return seconds > 0 and (now - was) / seconds or 0 end
  local now = {packets = packets, bits = bits, lost = lost,
    pps = rate(packets, before.packets), bit_rate = rate(bits, before.bits)}
  self.before[name] = {packets = packets, bits = bits}
  return now
end

local function direction(self, d, seconds)
  local list = {}
  for i, lane in ipairs(d.lanes) do
    list[i] = {name = lane.name, removed = lane.removed,
      sent = counted(self, lane.generator, seconds),
      received = counted(self, lane.meter, seconds)}
  end
  if not d.joined then return list[1] end
  local all = {sent = d.port and {} or nil, received = d.receive and {} or nil}
  for kind, counts in pairs(all) do
    for _, key in ipairs{"packets", "bits", "pps", "bit_rate"} do counts[key] = 0 end
    if d.gone[kind] then
      counts.packets, counts.bits = d.gone[kind].packets, d.gone[kind].bits
      counts.lost = d.gone[kind].lost
    end
    for _, item in ipairs(list) do
      for key, value in pairs(item[kind] or {}) do
        counts[key] = (counts[key] or 0) + value
      end
    end
  end
  if #list > 0 then all.streams = list end
  return all
end

--- What the running apps of the directions (program.generate.graph) have counted from
--- now on is asked for by `progress`.
function M.new(directions)
  return setmetatable({directions = directions, before = {}, began = engine.now(),
    told = engine.now()}, Live)
end

--- What was sent and received so far: {seconds, sent, received, streams} of the only
--- direction, or {seconds, directions}. Rates are those since this was asked last.
function Live:progress()
  local now, list = engine.now(), {}
  for i, d in ipairs(self.directions) do
    list[i] = direction(self, d, now - self.told)
  end
  local all = #list == 1 and list[1] or {directions = list}
  all.seconds, self.told = now - self.began, now
  return all
end

local function write(self, text) files.append(self.file, self.name, text .. "\n") end

--- Write {"progress": ...} to the file `name` ("-": standard output) each second from
--- now on. Raises a sentence if it can't be opened; a line that can't be written ends
--- the run with one.
function M.start(directions, name)
  local file, problem = io.stdout, nil
  if name ~= "-" then file, problem = files.create(name) end
  if not file then failure.usage("can't write %s", problem) end
  local self = M.new(directions)
  self.file, self.name = file, name
  self.timer = timer.new("lines of JSON", function ()
    write(self, cjson.encode{progress = self:progress()})
  end, EVERY_S * 1e9, "repeating")
  timer.activate(self.timer)
  return self
end

--- The last line: `text`, the results.
function Live:finish(text)
  timer.cancel(self.timer)
  files.append(self.file, self.name, text)
end

return M
