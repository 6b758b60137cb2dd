-- SPDX-License-Identifier: Apache-2.0
-- RED drops packets before queues are full, by chance (Floyd and Jacobson, Random
-- Early Detection Gateways for Congestion Avoidance, 1993; gently, as Floyd proposed in
-- 1997).

local configure = require("click.router.configure")
local element = require("click.element")
local nearby_queues = require("click.scheduling.nearby_queues")

local length_of, names_of = nearby_queues.length, nearby_queues.names
local random = math.random
local MOST_THRESHOLD = 0xffff
local MOST_STABILITY = 16
local EMPTY_STEPS = 50 -- a second: how fast the average falls while queues are empty

local RED = element.define{
  name = "RED", summary = "drops packets according to Random Early Detection",
  ports = "1/1-2", processing = "a/ah", live = true, drops = {"early drop"},
  arguments = {
    {"MIN_THRESH", "unsigned", required = true},
    {"MAX_THRESH", "unsigned", required = true}, {"MAX_P", "real", required = true},
    {"QUEUES", "argument", keyword = true},
    {"STABILITY", "unsigned", default = 4, keyword = true},
    {"GENTLE", "bool", default = true, keyword = true},
  },
}

-- What is wrong with the arguments, if anything.
local function check(a)
  if a.MAX_THRESH > MOST_THRESHOLD then
    return ("MAX_THRESH must be <= %d"):format(MOST_THRESHOLD)
  elseif a.MIN_THRESH > a.MAX_THRESH then
    return "MIN_THRESH must be <= MAX_THRESH"
  elseif a.MAX_P < 0 or a.MAX_P > 1 then
    return "MAX_P must be between 0 and 1"
  elseif a.STABILITY > MOST_STABILITY then
    return "STABILITY must be between 0 and 16"
  end
end

function RED:configure(a)
  local problem = check(a)
  if problem then return self:error("%s", problem) end
  self.min, self.max, self.max_p = a.MIN_THRESH, a.MAX_THRESH, a.MAX_P
  self.gentle, self.stability, self.wanted = a.GENTLE, a.STABILITY, a.QUEUES
  self.kill = a.GENTLE and a.MAX_P < 1 and 2 * a.MAX_THRESH or a.MAX_THRESH
  self.weight = 2 ^ -a.STABILITY
  self.average, self.dropped = self.average or 0, self.dropped or 0
  self.passed, self.draw = self.passed or -1, self.draw or 0
end

function RED:initialize()
  self.queues = nearby_queues.find(self, self.wanted,
    self.processing.outputs:sub(1, 1) ~= "l")
end

-- Marking ---------------------------------------------------------------------------

-- The average after one more look. It falls with time while there is nothing.
local function look(self)
  local n = length_of(self.queues)
  if self.stability == 0 then
    self.average = n
  elseif n > 0 then
    self.average = self.average + (n - self.average) * self.weight
    self.empty_since = nil
  else
    local now = self.router:turn_time()
    local steps = self.empty_since and (now - self.empty_since) * EMPTY_STEPS or 1
    self.average = self.average * (1 - self.weight) ^ steps
    self.empty_since = now
  end
  return self.average
end

-- How likely a packet is dropped at that average, between the thresholds.
local function probability(self, average)
  if average <= self.max then
    if self.max == self.min then return self.max_p end
    return self.max_p * (average - self.min) / (self.max - self.min)
  end
  return self.max_p + (1 - self.max_p) * (average - self.max) / self.max
end

-- Is the packet to be dropped? Drops are spread evenly: after each, so many packets
-- pass as a number drawn at random, between 0 and 1, has in the probability.
local function is_marked(self)
  local average = look(self)
  if average <= self.min then
    self.passed = -1
    return false
  elseif average > self.kill then
    self.passed = -1
    return true
  end
  self.passed = self.passed + 1
  local likely = probability(self, average)
  if self.passed > 0 and likely > 0 and self.passed > self.draw / likely then
    self.passed, self.draw = 0, random()
    return true
  end
  if self.passed == 0 then self.draw = random() end
  return false
end

function RED:process(p)
  if not is_marked(self) then return p end
  self.dropped = self.dropped + 1
  if self.noutputs > 1 then return p, 2 end
  return nil, 1
end

function RED:take_state(old) self.average = old.average end

-- Handlers --------------------------------------------------------------------------

local function parameter(field, name, position)
  return {read = element.data(field).read, write = configure.keyword(name, position)}
end

RED.handlers = {
  drops = element.data("dropped"),
  min_thresh = parameter("min", "MIN_THRESH", 1),
  max_thresh = parameter("max", "MAX_THRESH", 2),
  max_p = parameter("max_p", "MAX_P", 3),
  avg_queue_size = {read = function (e) return ("%.10g"):format(e.average) end},
  queues = {read = function (e)
    return table.concat(names_of(e.queues), "\n") .. "\n"
  end},
  stats = {read = function (e)
    return ("%d current queue\n%.10g avg queue\n%d drops\n")
      :format(length_of(e.queues), e.average, e.dropped)
  end},
  config = {read = function (e)
    return ("%d, %d, %g, QUEUES %s, STABILITY %d%s"):format(e.min, e.max, e.max_p,
      table.concat(names_of(e.queues), " "), e.stability,
      e.gentle and "" or ", GENTLE false")
  end},
}

return {RED}
