-- SPDX-License-Identifier: Apache-2.0
-- The interactive screen of top: looks at the instances every interval, and listens to
-- keys between.

local C = require("core.native")
local sample = require("program.top.sample")
local terminal = require("program.top.terminal")
local view = require("program.top.view")

local screen = {}

local Screen = {}
Screen.__index = Screen

local HELP = "q quit  space pause  s sort  up/down scroll  left/right instance  l list"

-- Look at all instances; the figures since the last look.
function Screen:look()
  local now, figures = {}, {}
  self.list = self.instances()
  for _, instance in ipairs(self.list) do
    local pid = instance.pid
    now[pid] = sample.take(instance)
    if now[pid] and self.samples[pid] then
      figures[#figures + 1] = {instance, sample.difference(self.samples[pid], now[pid])}
    end
  end
  self.samples, self.figures = now, figures
end

-- The place of the instance shown among the figures; nil: the list of all is shown.
function Screen:place()
  for i, pair in ipairs(self.figures) do
    if pair[1].pid == self.pid then return i end
  end
end

function Screen:lines()
  local place = self:place()
  if not place and #self.figures == 1 and not self.listing then place = 1 end
  if place then
    return view.lines(self.figures[place][1], self.figures[place][2], self.order)
  end
  if #self.figures == 0 then return {"reading ..."} end
  return view.list(self.figures, self.order)
end

function Screen:draw()
  local rows, columns = terminal.size()
  local lines = self:lines()
  self.first = math.max(1, math.min(self.first, #lines - rows + 2))
  local status = (self.paused and "PAUSED  " or "") .. HELP
  io.write(terminal.page(lines, self.first, status, rows, columns))
  io.flush()
  self.page_rows = rows - 2
end

function Screen:choose(step)
  local count = #self.figures
  if count == 0 then return end
  local place = ((self:place() or (step > 0 and 0 or 1)) - 1 + step) % count + 1
  self.pid, self.listing, self.first = self.figures[place][1].pid, false, 1
end

-- What each key does.
local keys = {
  q = function (self) self.over = true end,
  [" "] = function (self) self.paused = not self.paused end,
  s = function (self) self.order = self.order == "rate" and "name" or "rate" end,
  up = function (self) self.first = self.first - 1 end,
  down = function (self) self.first = self.first + 1 end,
  ["page up"] = function (self) self.first = self.first - self.page_rows end,
  ["page down"] = function (self) self.first = self.first + self.page_rows end,
  right = function (self) self:choose(1) end,
  left = function (self) self:choose(-1) end,
  l = function (self) self.pid, self.listing, self.first = nil, true, 1 end,
}
keys.escape, keys["end"], keys.k, keys.j = keys.q, keys.q, keys.up, keys.down

-- Wait for a key until `time`; what it does is done.
function Screen:listen(time)
  local key = terminal.key(time - C.pg_monotonic())
  if C.pg_signal() ~= 0 then self.over = true end
  if key and keys[key] then
    keys[key](self)
    self:draw()
  end
end

function Screen:loop()
  while not self.over do
    if not self.paused then self:look() end
    self:draw()
    local soon = next(self.figures) == nil and 0.2 or self.interval
    local ends = C.pg_monotonic() + soon
    while not self.over and C.pg_monotonic() < ends do self:listen(ends) end
  end
end

--- Show what `instances()` lists until the user has seen enough. `options` are those
--- of the command line: interval (s) and sort.
function screen.run(options, instances)
  local self = setmetatable({
    interval = options.interval, order = options.sort, instances = instances,
    samples = {}, figures = {}, first = 1, page_rows = 1, over = false, paused = false,
  }, Screen)
  C.pg_catch_signals()
  local restore = terminal.open()
  local ok, err = pcall(self.loop, self)
  restore()
  if not ok then error(err, 0) end
end

return screen
