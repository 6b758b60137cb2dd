-- SPDX-License-Identifier: Apache-2.0
-- CSV: writes what apps there are, and what links have carried, to two files of comma
-- separated values once a second: app.csv and link.csv in a directory.

local config = require("core.config")
local engine = require("core.app")
local failure = require("core.failure")
local link = require("core.link")

local M = {interval = 1.0} -- seconds

local CSV = {argument = "string"}
CSV.__index = CSV
M.CSV = CSV

local APP_COLUMNS = "time,name,class,cpu,crashes,starttime"
local LINK_COLUMNS = "time,from_app,from_port,to_app,to_port,txbytes,txpackets,rxbytes,"
  .. "rxpackets,dropbytes,droppackets"

local function flush(file, path)
  local ok, reason = file:flush()
  if not ok then failure.raise("can't write %s: %s", path, reason) end
end

local function create(path, columns)
  local file, reason = io.open(path, "w")
  if not file then failure.raise("can't write %s", reason) end
  file:write(columns, "\n")
  flush(file, path)
  return file
end

function CSV:new(directory) return setmetatable({directory = directory}, self) end

function CSV:begin()
  self.appfile = create(self.directory .. "/app.csv", APP_COLUMNS)
  self.linkfile = create(self.directory .. "/link.csv", LINK_COLUMNS)
end

--- Write a line for each app and link now. CPU time, crashes and dropped bytes aren't
--- known and 0.
function CSV:output_now()
  local now = engine.now()
  for _, name in ipairs(config.sorted_keys(engine.app_table)) do
    local zone = engine.app_table[name].zone or ""
    self.appfile:write(("%f,%s,%s,0,0,0\n"):format(now, name, zone))
  end
  for _, spec in ipairs(config.sorted_keys(engine.link_table)) do
    local s = link.stats(engine.link_table[spec])
    local from, output, to, input = config.parse_link(spec)
    self.linkfile:write(("%f,%s,%s,%s,%s,%d,%d,%d,%d,0,%d\n"):format(now, from, output,
      to, input, s.txbytes, s.txpackets, s.rxbytes, s.rxpackets, s.txdrop))
  end
  flush(self.appfile, self.directory .. "/app.csv")
  flush(self.linkfile, self.directory .. "/link.csv")
end

--- It can do without tick() for so long while no packet comes, in seconds.
CSV.tick_seconds = 0.1

function CSV:tick()
  local now = engine.now()
  if self.next_report and self.next_report > now then return end
  self.next_report = (self.next_report or now) + M.interval
  self:output_now()
end

function CSV:stop()
  if self.appfile then self.appfile:close() end
  if self.linkfile then self.linkfile:close() end
end

return M
