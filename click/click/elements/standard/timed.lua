-- SPDX-License-Identifier: Apache-2.0
-- Elements that act at intervals, or after a time.

local element = require("click.element")
local note = require("click.note")
local packet = require("core.packet")

local TIMESTAMP = note.TIMESTAMP

-- TimedUnqueue -------------------------------------------------------------

local TimedUnqueue = element.define{
  name = "TimedUnqueue", aliases = {"Burster"}, processing = "l/h", emits = true,
  division = "none", undivided = "it keeps all packets together to one rate",
  summary = "pulls and pushes packets at intervals",
  arguments = {
    {"INTERVAL", "interval", required = true}, {"BURST", "int", default = 1},
  },
}

function TimedUnqueue:configure(a)
  if a.BURST <= 0 then return self:error("bad BURST") end
  self.interval, self.burst = a.INTERVAL, a.BURST
end

function TimedUnqueue:initialize()
  self.gate = self.router:gate(self, 1, function ()
    if not self.timer:scheduled() then self:schedule() end
  end)
  self.timer = self.router:timer(function () self:schedule() end)
  self:schedule()
end

function TimedUnqueue:task()
  self:unschedule()
  for n = 1, self.burst do
    local p = self.pull_from[1]()
    if not p then
      if n == 1 and not self.gate.active then
        self.timer.due = nil
        return false
      end
      break
    end
    self.emit(1, p)
  end
  self.timer:again(self.interval)
  return true
end

-- DelayShaper --------------------------------------------------------------

local DelayShaper = element.define{
  name = "DelayShaper", processing = "l/l", notifies = "empty", notifies_on = "through",
  division = "none", undivided = "it keeps all packets together to one rate",
  summary = "lets packets be pulled so long after their timestamps",
  arguments = {{"DELAY", "interval", required = true}, {"BURST", "int", default = 1}},
  handlers = {delay = element.data("delay", "interval"),
              burst = element.data("burst", "int")},
}

function DelayShaper:configure(a) self.delay, self.burst = a.DELAY, a.BURST end

function DelayShaper:initialize()
  local function wake() self.signal:set(true) end
  self.gate = self.router:gate(self, 1, wake)
  self.timer = self.router:timer(wake)
end

--- Packets that it holds (click.router.run_out).
function DelayShaper:backlog() return self.waiting and 1 or 0 end

-- The packet that waits next, with its time to leave as timestamp; or nil.
local function fetch(self)
  local p = self.waiting or self.pull_from[1]()
  if p and not self.waiting then
    if p.note64[TIMESTAMP] < 1000000000ULL then
      p.note64[TIMESTAMP] = self.router:nanoseconds()
    end
    p.note64[TIMESTAMP] = p.note64[TIMESTAMP] + self.delay * 1e9
  end
  self.waiting = p
  return p
end

function DelayShaper:pull()
  local p = fetch(self)
  if not p then
    if not self.gate.active then self.signal:set(false) end
    return nil
  end
  local now = self.router:nanoseconds()
  if p.note64[TIMESTAMP] <= now then
    p.note64[TIMESTAMP], self.waiting = now, nil
    return p
  end
  self.timer:after(tonumber(p.note64[TIMESTAMP] - now) / 1e9)
  self.signal:set(false)
  return nil
end

function DelayShaper:cleanup()
  if self.waiting then packet.free(self.waiting) end
  self.waiting = nil
end

-- QuitWatcher --------------------------------------------------------------

local QuitWatcher = element.define{
  name = "QuitWatcher", ports = "0/0",
  summary = "stops the router when an element isn't scheduled any more",
}

local INTERVAL = 0.01 -- seconds

function QuitWatcher:configure_raw(list) self.names = list end

function QuitWatcher:initialize()
  for _, name in ipairs(self.names) do
    local _, problem = self.router:handler_read(name .. ".scheduled", self)
    if problem then self:error("%s", problem) end
  end
  local timer
  timer = self.router:timer(function ()
    for _, name in ipairs(self.names) do
      if self.router:handler_read(name .. ".scheduled", self) == "false" then
        return self.router:stop()
      end
    end
    timer:after(INTERVAL)
  end)
  timer:after(INTERVAL)
end

return {TimedUnqueue, DelayShaper, QuitWatcher}
