-- SPDX-License-Identifier: Apache-2.0
-- AggregateLast keeps the last packet of each aggregate, and sends it when that ends;
-- its annotations say how many came before it.

local element = require("click.element")
local note = require("click.note")
local packet = require("core.packet")
local pulls = require("click.router.pulls")
local tables = require("core.lib.tables")

local AGGREGATE, EXTRA_PACKETS, EXTRA_LENGTH =
  note.AGGREGATE, note.EXTRA_PACKETS, note.EXTRA_LENGTH
local TIMESTAMP, FIRST_TIMESTAMP = note.TIMESTAMP, note.FIRST_TIMESTAMP
local MOST_EXTRA = 0xffff

local AggregateLast = element.define{
  name = "AggregateLast", summary = "passes the last packet of each aggregate",
  ports = "1/1-2", processing = "h/h", emits = true, drops = {"not the last"},
  reads = {"AGGREGATE", "EXTRA_PACKETS", "EXTRA_LENGTH"}, fills_cache = true,
  arguments = {
    {"NOTIFIER", "element", keyword = true},
    {"STOP_AFTER_CLEAR", "bool", default = false, keyword = true},
  },
}

function AggregateLast:configure(a)
  if a.NOTIFIER and not a.NOTIFIER.when_over then
    return self:error("%s is not an AggregateNotifier", a.NOTIFIER.name)
  end
  self.notifier, self.stop_after_clear = a.NOTIFIER, a.STOP_AFTER_CLEAR
  self.last = {} -- packets by their aggregates
end

function AggregateLast:initialize()
  if not self.notifier then return end
  self.notifier:when_over(function (number)
    local p = self.last[number]
    self.last[number] = nil
    if p then self.emit(1, p) end
  end)
end

-- Packet `p` comes in the place of `former`.
local function follow(p, former)
  p.note16[EXTRA_PACKETS] = math.min(MOST_EXTRA,
    p.note16[EXTRA_PACKETS] + 1 + former.note16[EXTRA_PACKETS])
  p.note32[EXTRA_LENGTH] = p.note32[EXTRA_LENGTH] + former.length
    + former.note32[EXTRA_LENGTH]
  p.note64[FIRST_TIMESTAMP] = former.note64[FIRST_TIMESTAMP]
end

local function send_all(self)
  local numbers = tables.sorted_keys(self.last)
  for _, number in ipairs(numbers) do
    local p = self.last[number]
    self.last[number] = nil
    self.emit(1, p)
  end
  if self.stop_after_clear then self.router:stop() end
end

function AggregateLast:task()
  self:unschedule()
  send_all(self)
  return true
end

function AggregateLast:process(p)
  if self:scheduled() then self:task() end
  local number = p.note32[AGGREGATE]
  local former = self.last[number]
  self.last[number] = p
  if not former then
    p.note64[FIRST_TIMESTAMP] = p.note64[TIMESTAMP]
    return false
  end
  follow(p, former)
  if self.noutputs > 1 then return former, 2 end
  pulls.lose(self, former, 1)
  return false
end

--- Packets that it keeps.
function AggregateLast:cleanup()
  for _, p in pairs(self.last or {}) do packet.free(p) end
  self.last = {}
end

AggregateLast.handlers = {clear = element.command(function (e) e:schedule() end)}

return {AggregateLast}
