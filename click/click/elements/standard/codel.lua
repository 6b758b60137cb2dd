-- SPDX-License-Identifier: Apache-2.0
-- CoDel drops packets that have waited in queues for too long (RFC 8289). How long is
-- taken from the annotation that SetTimestamp(FIRST true) writes; packets without it
-- pass.

local configure = require("click.router.configure")
local element = require("click.element")
local nearby_queues = require("click.scheduling.nearby_queues")
local note = require("click.note")
local pulls = require("click.router.pulls")

local FIRST_TIMESTAMP = note.FIRST_TIMESTAMP
local SECOND, MILLISECOND = 1e9, 1e6 -- in nanoseconds
local NEVER = 0LL

local CoDel = element.define{
  name = "CoDel", summary = "drops packets when they wait too long, and sooner then",
  processing = "l/l", live = true, drops = {"waited too long"},
  reads = {"FIRST_TIMESTAMP"},
  arguments = {
    {"TARGET", "seconds", default = 0.005}, {"INTERVAL", "seconds", default = 0.1},
    {"QUEUES", "argument", keyword = true},
  },
}

function CoDel:configure(a)
  self.target, self.interval = a.TARGET * SECOND, a.INTERVAL * SECOND
  self.wanted, self.dropped = a.QUEUES, self.dropped or 0
  self.since, self.next_drop = self.since or NEVER, self.next_drop or NEVER
  self.drops_now = self.drops_now or 0 -- since it has been dropping
  self.dropping = self.dropping or false
end

function CoDel:initialize()
  self.queues = nearby_queues.find(self, self.wanted, false)
end

-- The next packet; has it a time; and have packets waited for so long that it may be
-- dropped?
local function fetch(self, now)
  local p = self.pull_from[1]()
  if not p then
    self.since = NEVER
    return nil, false, false
  end
  local first = p.note64[FIRST_TIMESTAMP]
  if first < SECOND then return p, false, false end
  if tonumber(now - first) < self.target then
    self.since = NEVER
  elseif self.since == NEVER then
    self.since = now + self.interval
  elseif now >= self.since then
    return p, true, true
  end
  return p, true, false
end

-- The whole part of the square root of n >= 0.
local function root(n) return math.floor(math.sqrt(n)) end

-- When the drop after that at `time` is due: the more drops, the sooner (section 3.3),
-- in whole numbers as Click does.
local function after(self, time)
  local milliseconds = math.floor(self.interval / MILLISECOND)
  return time + math.floor(milliseconds * 16 * MILLISECOND / root(self.drops_now * 256))
end

local function drop(self, p)
  pulls.lose(self, p, 1)
  self.dropped = self.dropped + 1
end

-- The next packet, and whether it may be dropped.
local function next_late(self, now)
  local p, _, late = fetch(self, now)
  return p, late
end

local function go_on_dropping(self, p, now)
  local late
  while now >= self.next_drop and self.dropping do
    drop(self, p)
    self.drops_now = self.drops_now + 1
    p, late = next_late(self, now)
    if late then self.next_drop = after(self, self.next_drop)
    else self.dropping = false end
  end
  return p
end

local function begin_to_drop(self, p, now)
  drop(self, p)
  p = fetch(self, now)
  self.dropping = true
  local recently = tonumber(now - self.next_drop) < self.interval
  self.drops_now = recently and self.drops_now > 2 and self.drops_now - 2 or 1
  self.next_drop = after(self, now)
  return p
end

function CoDel:pull()
  local now = self.router:nanoseconds()
  local p, has_time, late = fetch(self, now)
  if not has_time then
    self.dropping = false
  elseif self.dropping then
    if not late then
      self.dropping = false
    elseif now >= self.next_drop then
      p = go_on_dropping(self, p, now)
    end
  elseif late and (tonumber(now - self.next_drop) < self.interval
    or tonumber(now - self.since) >= self.interval) then
    p = begin_to_drop(self, p, now)
  end
  return p
end

function CoDel:take_state(old)
  self.dropped, self.drops_now, self.dropping = old.dropped, old.drops_now, old.dropping
  self.since, self.next_drop = old.since, old.next_drop
end

-- Handlers --------------------------------------------------------------------------

local function seconds(ns) return ("%.6fs"):format(ns / SECOND) end

local function parameter(field, name, position)
  return {read = function (e) return seconds(e[field]) end,
          write = configure.keyword(name, position)}
end

CoDel.handlers = {
  drops = element.data("dropped"),
  codel_target = parameter("target", "TARGET", 1),
  codel_interval = parameter("interval", "INTERVAL", 2),
  queues = {read = function (e)
    return table.concat(nearby_queues.names(e.queues), "\n") .. "\n"
  end},
  stats = {read = function (e)
    return ("%d current queue\n%d drops\n"):format(nearby_queues.length(e.queues),
      e.dropped)
  end},
  config = {read = function (e)
    return ("%s, %s"):format(seconds(e.target), seconds(e.interval))
  end},
}

return {CoDel}
