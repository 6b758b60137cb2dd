-- SPDX-License-Identifier: Apache-2.0
-- RED drops packets before queues are full, by chance (Floyd and Jacobson, Random
-- Early Detection Gateways for Congestion Avoidance, 1993; gently, as Floyd proposed in
-- 1997).

local chance = require("click.chance")
local configure = require("click.router.configure")
local element = require("click.element")
local moving_average = require("click.scheduling.moving_average")
local nearby_queues = require("click.scheduling.nearby_queues")

local length_of, names_of = nearby_queues.length, nearby_queues.names
local MOST_THRESHOLD = 0xffff
local MOST_STABILITY = 16
local text, SCALE = moving_average.text, 2 ^ 10
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

local ONE = 2 ^ 16 -- a probability of 1

-- How the probability grows with the average, between the thresholds and above them:
-- in whole numbers, as Click has it.
local function set_lines(self)
  local max_p = math.floor(self.max_p * ONE + 0.5)
  local range = self.max - self.min
  self.slope = range == 0 and 0 or math.floor(max_p / range)
  self.less = range == 0 and 1 or math.floor(max_p * self.min / range)
  self.steep = self.max == 0 and 0 or math.floor((ONE - max_p) / self.max)
  self.steep_less = ONE - 2 * max_p
end

function RED:configure(a)
  local problem = check(a)
  if problem then return self:error("%s", problem) end
  self.min, self.max, self.max_p = a.MIN_THRESH, a.MAX_THRESH, a.MAX_P
  self.gentle, self.stability, self.wanted = a.GENTLE, a.STABILITY, a.QUEUES
  self.kill = a.GENTLE and a.MAX_P < 1 and 2 * a.MAX_THRESH or a.MAX_THRESH
  local former = self.average and self.average.scaled or 0
  self.average, self.dropped = moving_average.new(a.STABILITY), self.dropped or 0
  self.average.scaled = former
  set_lines(self)
  self.passed, self.draw = self.passed or -1, self.draw or 0
end

function RED:initialize()
  self.queues = nearby_queues.find(self, self.wanted, self:is_pushing())
end

-- Marking ---------------------------------------------------------------------------

-- The average after one more look. It falls with time while there is nothing.
local function look(self)
  local n, average = length_of(self.queues), self.average
  if self.stability == 0 then
    average.scaled = n * SCALE
    return n
  elseif n > 0 then
    average:update(n)
    self.empty_since = nil
  else
    local now = math.floor(self.router:turn_time() * EMPTY_STEPS)
    average:rest(self.empty_since and now - self.empty_since or 1)
    self.empty_since = now
  end
  return average:rounded()
end

-- How likely a packet is dropped at that average, above the lower threshold: in parts
-- of ONE.
local function probability(self, average)
  local scaled = self.average.scaled
  if average <= self.max then
    return math.floor(self.slope * scaled / SCALE) - self.less
  end
  return math.floor(self.steep * scaled / SCALE) - self.steep_less
end

local function draw() return bit.band(bit.rshift(chance.word(), 5), ONE - 1) end

-- Is the packet to be dropped? Drops are spread evenly: after each, at least as many
-- packets pass as a random number from 0 to 1, divided by the probability, says.
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
  if self.passed > 0 and likely > 0
    and self.passed > math.floor(self.draw / likely) then
    self.passed, self.draw = 0, draw()
    return true
  end
  if self.passed == 0 then self.draw = draw() end
  return false
end

function RED:process(p)
  if not is_marked(self) then return p end
  self.dropped = self.dropped + 1
  if self.noutputs > 1 then return p, 2 end
  return nil, 1
end

--- The queues' average length, in whole packets.
function RED:average_length()
  if self.stability == 0 then return length_of(self.queues) end
  return self.average:rounded()
end

--- Drop with up to this probability between the thresholds, from now on.
function RED:set_likelihood(max_p)
  self.max_p = tonumber(("%.5f"):format(max_p)) -- as close as whole numbers can say it
  set_lines(self)
end

function RED:take_state(old)
  self.average.scaled = old.average.scaled
end

-- Handlers --------------------------------------------------------------------------

local function parameter(field, name, position)
  return {read = element.data(field).read, write = configure.keyword(name, position)}
end

RED.handlers = {
  drops = element.data("dropped"),
  min_thresh = parameter("min", "MIN_THRESH", 1),
  max_thresh = parameter("max", "MAX_THRESH", 2),
  max_p = parameter("max_p", "MAX_P", 3),
  avg_queue_size = {read = function (e) return text(e.average.scaled) end},
  queues = {read = function (e)
    return table.concat(names_of(e.queues), "\n") .. "\n"
  end},
  stats = {read = function (e)
    return ("%d current queue\n%s avg queue\n%d drops\n")
      :format(length_of(e.queues), text(e.average.scaled), e.dropped)
  end},
  config = {read = function (e)
    return ("%d, %d, %g, QUEUES %s, STABILITY %d%s"):format(e.min, e.max, e.max_p,
      table.concat(names_of(e.queues), " "), e.stability,
      e.gentle and "" or ", GENTLE false")
  end},
}

-- AdaptiveRED: a RED that keeps a queue near a length (Floyd, Gummadi and Shenker,
-- Adaptive RED, 2001). Twice a second it makes drops likelier or less likely. --------

local INTERVAL = 0.5               -- seconds
local LEAST_TARGET = 10            -- packets
local STEP, SHRINK = 655, 58982    -- a hundredth, nine tenths
local LIKELIEST = ONE / 2          -- above it max_p grows no more

local AdaptiveRED = element.define{
  name = "AdaptiveRED", extends = RED, live = false,
  summary = "drops packets so that queues stay near a length",
  arguments = {
    {"TARGET", "unsigned", required = true}, {"MAX_P", "real", required = true},
    {"QUEUES", "argument", keyword = true},
    {"STABILITY", "unsigned", default = 4, keyword = true},
  },
  notes = "A RED with thresholds of half of TARGET (10 at least) and one and a half "
    .. "times TARGET. Each half second MAX_P grows by up to 0.01 (a quarter of it at "
    .. "most) while the queues' average is above the middle of the upper half, up to "
    .. "0.5, and becomes nine tenths while it is below that of the lower half.",
}

function AdaptiveRED:configure(a)
  local target = math.max(a.TARGET, LEAST_TARGET)
  local least = math.floor(target / 2)
  RED.configure(self, {
    MIN_THRESH = least, MAX_THRESH = target + least, MAX_P = a.MAX_P,
    QUEUES = a.QUEUES, STABILITY = a.STABILITY, GENTLE = true,
  })
end

-- Let drops be as likely as the queues' average wants.
local function adapt(self)
  local average, max_p = self:average_length(), math.floor(self.max_p * ONE + 0.5)
  local part = math.floor((self.max - self.min) / 2)
  if average < self.min + part and max_p > STEP then
    max_p = math.floor(max_p * SHRINK / ONE)
  elseif average > self.max - part and max_p < LIKELIEST then
    max_p = max_p + math.min(STEP, math.floor(max_p / 4))
  end
  self:set_likelihood(max_p / ONE)
  self.timer:again(INTERVAL)
end

function AdaptiveRED:initialize()
  RED.initialize(self)
  self.timer = self.router:timer(function () adapt(self) end)
  self.timer:after(INTERVAL)
end

return {RED, AdaptiveRED}
