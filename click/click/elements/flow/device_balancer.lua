-- SPDX-License-Identifier: Apache-2.0
-- DeviceBalancer (RSS++): a configuration asks for flows to move between its copies on
-- several CPUs (program.click.balanced, core.cpus.balancer).

local balancer = require("core.cpus.balancer")
local element = require("click.element")
local numbers = require("click.arguments.numbers")

local MILLISECONDS = 1000
local METHODS = {rss = false, rsspp = true, pianorss = true}
local LOADS = {cycles = true, cyclesqueue = true, cpu = true, queue = true,
               realcpu = true}

local function keyword(name, kind, default) -- as element.define has them
  return {name, kind, default = default, keyword = true}
end

local DeviceBalancer = element.define{
  name = "DeviceBalancer", summary = "lets flows move between CPUs",
  ports = "0/0", division = "whole", balances = true, reads = {}, lengthens = 0,
  arguments = {
    {"METHOD", "word", required = true}, {"DEV", "word", required = true},
    keyword("CORE_OFFSET", "int"), keyword("TIMER", "unsigned", 100),
    keyword("TIMER_MAX", "unsigned"), keyword("CPUS", "unsigned"),
    keyword("TARGET", "word", "load"), keyword("STARTCPU", "int"),
    keyword("UNDERLOAD", "real"), keyword("OVERLOAD", "real"),
    keyword("CYCLES", "word", "cycles"), keyword("AUTOSCALE", "bool", false),
    keyword("ACTIVE", "bool", true), keyword("VERBOSE", "int", 0),
    keyword("MANAGER", "word"), keyword("RETA_SIZE", "unsigned"),
    keyword("MARK", "bool"), keyword("GROUP", "bool"),
    keyword("TARGET_LOAD", "real"), keyword("LOAD", "word"),
    keyword("RSSCOUNTER", "word"),
    keyword("IMBALANCE_ALPHA", "real"), keyword("IMBALANCE_THRESHOLD", "real"),
    keyword("DANCER", "bool"), keyword("NUMA", "bool"),
  },
  notes = [[
With METHOD rsspp, and copies of the configuration on several CPUs, buckets of flows
move every TIMER milliseconds from the busiest CPU to the least busy one, as with
--balance. So do what flow managers keep of them; packets of a flow stay in order.
METHOD pianorss is the same, as RSS++'s own experiments call it.
METHOD rss moves nothing. active can be written. run_stats: a line "0 TURNS IMBALANCE
NANOSECONDS": turns that moved something, the greatest load by the mean at the last
look, and how long such a turn took; then the same two alone. CPUS and STARTCPU: how
many CPUs may take flows, and how many do at first (all of CPUS); when another number is
written to cpus, flows of the others move, and these sleep. looks: how often loads
have been looked at, which takes 1000 packets for each CPU since the look before.]],
  differs = [[
Loads are the packets of each bucket, and packets are handed out in software, by 128
buckets. So RSSCOUNTER isn't needed, and DEV, CYCLES, LOAD, TARGET and the thresholds
change nothing. AUTOSCALE, which changes the number of CPUs by itself, is refused. A
card's own queues are left alone.]],
}

-- Let so many CPUs take flows; nil: all. What is wrong with the number, or nil.
function DeviceBalancer:set_cpus(n)
  if n and (n < 1 or n > (self.most or n)) then
    return self.most and ("%d: 1 to %d CPUs can take flows"):format(n, self.most)
      or ("%d: at least 1 CPU takes flows"):format(n)
  end
  self.cpus = n
end

function DeviceBalancer:configure(a)
  if METHODS[a.METHOD] == nil then
    return self:error("Unknown method %s; it can be rss or rsspp", a.METHOD)
  elseif not LOADS[a.CYCLES] then
    return self:error("Unknown cycle method !")
  elseif a.TARGET ~= "load" and a.TARGET ~= "balance" then
    return self:error("Unknown target %s", a.TARGET)
  elseif a.AUTOSCALE then
    return self:error("AUTOSCALE: write how many CPUs take flows to the handler cpus")
  elseif a.TIMER == 0 then
    return self:error("TIMER: must be at least 1")
  elseif a.CPUS == 0 then
    return self:error("CPUS: must be at least 1")
  end
  self.most = a.CPUS
  local first = a.STARTCPU ~= -1 and a.STARTCPU or a.CPUS
  local problem = self:set_cpus(first)
  if problem then return self:error("STARTCPU: %s", problem) end
  for _, name in pairs{a.DEV, a.MANAGER, a.RSSCOUNTER} do
    if not self.router.options.is_part and not self.router:find(name, self) then
      return self:error("there is no element '%s'", name)
    end
  end
  self.moves, self.active = METHODS[a.METHOD], a.ACTIVE
  self.timer = a.TIMER / MILLISECONDS
end

--- Seconds between two looks at the loads; 0: nothing moves.
function DeviceBalancer:period() return self.moves and self.timer or 0 end

function DeviceBalancer:initialize()
  balancer.use(self.cpus)
  if not self.active then balancer.pause(true) end
end

local function mean_time(told)
  if told.turns == 0 then return "nan" end
  return ("%.0f"):format(1e9 * told.seconds / told.turns)
end

local function imbalance(told)
  return told.last and ("%.3f"):format(told.last) or "nan"
end

DeviceBalancer.handlers = {
  active = {read = function (self) return tostring(self.active) end,
    write = function (self, text)
      local active = numbers.bool(text)
      if active == nil then return "type mismatch" end
      self.active = active
      balancer.pause(not active)
    end},
  cpus = {read = function (self) return self.cpus or "all" end,
    write = function (self, text)
      local n = tonumber(text)
      if not n or n % 1 ~= 0 then return "type mismatch" end
      local problem = self:set_cpus(n)
      if problem then return problem end
      balancer.use(n)
    end},
  autoscale = {read = function () return "false" end},
  run_stats = {read = function ()
    local told = balancer.told
    return ("0 %d %s %s\n"):format(told.turns, imbalance(told), mean_time(told))
  end},
  looks = {read = function () return tostring(balancer.told.looks) end},
  run_stats_imbalance_first = {read = function () return imbalance(balancer.told) end},
  run_stats_time_first = {read = function () return mean_time(balancer.told) end},
}

return {DeviceBalancer}
