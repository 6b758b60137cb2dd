-- SPDX-License-Identifier: Apache-2.0
-- The interactive screen of top: looks at the instances every interval, and listens to
-- keys between.

local C = require("core.native")
local sample = require("lib.observe.sample")
local terminal = require("program.top.terminal")
local view = require("program.top.view")

local screen = {}

local Screen = {}
Screen.__index = Screen

local HELP = "h help  q quit  / filter  s sort  space pause  l list  arrows move"
local MOST_HISTORY = 120 -- looks

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
  self:remember()
end

-- Packets and drops a second of each instance, of the last looks.
function Screen:remember()
  local histories = {}
  for _, pair in ipairs(self.figures) do
    local pid = pair[1].pid
    local h = self.histories[pid] or {pps = {}, drops = {}}
    histories[pid] = h
    local pps, drops = view.rates(pair[2])
    table.insert(h.pps, pps)
    table.insert(h.drops, drops)
    if #h.pps > MOST_HISTORY then
      table.remove(h.pps, 1)
      table.remove(h.drops, 1)
    end
  end
  self.histories = histories
end

-- The place of the instance shown among the figures; nil: the list of all is shown.
function Screen:place()
  for i, pair in ipairs(self.figures) do
    if pair[1].pid == self.pid then return i end
  end
end

function Screen:lines()
  if self.helping then return view.HELP end
  local place = self:place()
  if not place and #self.figures == 1 and not self.listing then place = 1 end
  if place then
    local instance, figures = unpack(self.figures[place])
    return view.lines(instance, figures, self.order,
      {filter = self.filter, history = self.histories[instance.pid]})
  end
  if #self.figures == 0 then return {"reading ..."} end
  return view.list(self.figures, self.order, {filter = self.filter})
end

function Screen:draw()
  local rows, columns = terminal.size()
  local lines = self:lines()
  self.first = math.max(1, math.min(self.first, #lines - rows + 2))
  local status = self.typing and ("filter: %s_  (Enter: done, Escape: all)"):format(
      self.filter or "")
    or (self.paused and "PAUSED  " or "") .. ("by %s  "):format(self.order)
      .. (self.filter and ("filter: %s  "):format(self.filter) or "") .. HELP
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

local NEXT_ORDER = {}
for i, order in ipairs(view.orders) do
  NEXT_ORDER[order] = view.orders[i % #view.orders + 1]
end

-- What each key does.
local keys = {
  q = function (self) self.over = true end,
  [" "] = function (self) self.paused = not self.paused end,
  s = function (self) self.order = NEXT_ORDER[self.order] end,
  ["/"] = function (self) self.typing, self.filter = true, nil end,
  h = function (self) self.helping = true end,
  up = function (self) self.first = self.first - 1 end,
  down = function (self) self.first = self.first + 1 end,
  ["page up"] = function (self) self.first = self.first - self.page_rows end,
  ["page down"] = function (self) self.first = self.first + self.page_rows end,
  right = function (self) self:choose(1) end,
  left = function (self) self:choose(-1) end,
  l = function (self) self.pid, self.listing, self.first = nil, true, 1 end,
}
keys.escape, keys["end"], keys.k, keys.j = keys.q, keys.q, keys.up, keys.down
keys["?"] = keys.h

-- A key while a filter is typed.
function Screen:type(key)
  if key == "end" then
    self.over = true
  elseif key == "escape" then
    self.typing, self.filter = false, nil
  elseif key == "\r" or key == "\n" then
    self.typing = false
  elseif key == "\127" or key == "\b" then
    self.filter = (self.filter or ""):sub(1, -2)
  elseif #key == 1 and key:byte() >= 32 then
    self.filter = (self.filter or "") .. key
  end
  if self.filter == "" then self.filter = nil end
  self.first = 1
end

-- Do what the key does.
function Screen:press(key)
  if self.typing then return self:type(key) end
  if self.helping and key ~= "end" then
    self.helping = false
  elseif key == "escape" and self.filter then
    self.filter = nil
  elseif keys[key] then
    keys[key](self)
  end
end

-- Wait for a key until `time`; what it does is done.
function Screen:listen(time)
  local key = terminal.key(time - C.pg_monotonic())
  if C.pg_signal() ~= 0 then self.over = true end
  if key then
    self:press(key)
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
--- of the command line: interval (s), sort and filter.
function screen.run(options, instances)
  local self = setmetatable({
    interval = options.interval, order = options.sort, instances = instances,
    samples = {}, figures = {}, histories = {}, filter = options.filter,
    first = 1, page_rows = 1, over = false, paused = false,
  }, Screen)
  C.pg_catch_signals()
  local restore = terminal.open()
  local ok, err = pcall(self.loop, self)
  restore()
  if not ok then error(err, 0) end
end

return screen
