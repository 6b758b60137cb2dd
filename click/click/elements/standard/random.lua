-- SPDX-License-Identifier: Apache-2.0
-- Elements that act by chance.

local chance = require("click.chance")
local element = require("click.element")
local packet = require("core.packet")
local sources = require("click.elements.standard.sources")
local wire = require("click.net.wire")

local barrier = wire.barrier
local InfiniteSource = sources[1]
local random = math.random

-- RandomSample -------------------------------------------------------------

local function probability(text)
  local p = tonumber(text)
  return p and p >= 0 and p <= 1 and p or nil
end

local function chance_handler(get, set)
  return {
    read = get,
    write = function (self, text)
      local p = probability(text)
      if not p then return "Must be given a number between 0.0 and 1.0" end
      set(self, p)
    end,
  }
end

local RandomSample = element.define{
  name = "RandomSample", summary = "passes packets with a probability", ports = "1/1-2",
  live = true,
  processing = "a/ah", drops = {"not sampled"},
  arguments = {
    {"P", "real", default = 1},
    {"SAMPLE", "real", keyword = true},
    {"DROP", "real", keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
  },
  handlers = {
    active = element.data("active", "bool"),
    drops = element.data("count"),
    sampling_prob = chance_handler(function (self) return self.chance end,
      function (self, p) self.chance = p end),
    drop_prob = chance_handler(function (self) return 1 - self.chance end,
      function (self, p) self.chance = 1 - p end),
    config = {read = function (self)
      return ("SAMPLE %g, ACTIVE %s"):format(self.chance, tostring(self.active))
    end},
  },
}

function RandomSample:configure(a)
  if a.SAMPLE and a.DROP then
    return self:error("give at most one of SAMPLE and DROP")
  end
  local wanted = a.SAMPLE or a.DROP and 1 - a.DROP or a.P
  if not probability(wanted) then
    return self:error("sampling probability must be between 0 and 1")
  end
  self.chance, self.active, self.count = wanted, a.ACTIVE, self.count or 0
end

function RandomSample:process(p)
  if not self.active or chance.happens(self.chance) then return p end
  self.count = self.count + 1
  if self.noutputs > 1 then return p, 2 end
  return nil, 1
end

-- RandomBitErrors ----------------------------------------------------------

local RandomBitErrors = element.define{
  name = "RandomBitErrors", summary = "changes bits of packets with a probability",
  live = true,
  ports = "1/1", drops = {"nothing left"},
  arguments = {
    {"P", "real", required = true},
    {"KIND", "word", default = "FLIP"},
    {"ACTIVE", "bool", default = true},
  },
  handlers = {
    active = element.data("active", "bool"),
    p_bit_error = chance_handler(function (self) return self.chance end,
      function (self, p) self.chance = p end),
    error_kind = element.data("kind"),
  },
}

local KINDS = {FLIP = "flip", CLEAR = "clear", SET = "set"}

function RandomBitErrors:configure(a)
  if not probability(a.P) then return self:error("P: must be between 0 and 1") end
  local kind = KINDS[a.KIND:upper()]
  if not kind then
    return self:error("bad KIND '%s'; should be 'FLIP', 'CLEAR', or 'SET'", a.KIND)
  end
  self.kind, self.chance, self.active = kind, a.P, a.ACTIVE
end

local function change(byte, bit_number, kind)
  local mask = bit.lshift(1, bit_number)
  if kind == "flip" then return bit.bxor(byte, mask) end
  if kind == "set" then return bit.bor(byte, mask) end
  return bit.band(byte, bit.bnot(mask))
end

-- The number of bits before the next that is changed: as many trials as fail.
local function gap(likely)
  return math.floor(math.log(1 - random()) / math.log(1 - likely))
end

function RandomBitErrors:process(p)
  if not self.active or self.chance == 0 then return p end
  local bits, data = p.length * 8, p.data
  local always = self.chance == 1
  local at = always and 0 or gap(self.chance)
  while at < bits do
    local k = bit.rshift(at, 3)
    data[k] = change(data[k], bit.band(at, 7), self.kind)
    at = at + 1 + (always and 0 or gap(self.chance))
  end
  barrier()
  return p
end

-- RandomSeed, RandomSource -------------------------------------------------

local RandomSeed = element.define{
  name = "RandomSeed", summary = "seeds what elements choose by chance", ports = "0/0",
  live = true,
  arguments = {{"SEED", "unsigned"}}, phase = 20,
  handlers = {
    seed = {write = function (_, text)
      local seed = tonumber(text)
      if not seed then return "syntax error" end
      chance.seed(seed)
    end},
  },
}

function RandomSeed:configure(a) -- luacheck: no self
  chance.seed(a.SEED or os.time())
end

local RandomSource = element.define{
  name = "RandomSource", summary = "makes packets of random bytes",
  extends = InfiniteSource,
  arguments = {
    {"LENGTH", "unsigned", required = true, max = packet.max_payload},
    {"LIMIT", "int", default = -1},
    {"BURST", "int", default = 1},
    {"ACTIVE", "bool", default = true},
    {"TIMESTAMP", "bool", default = true, keyword = true},
    {"STOP", "bool", default = false, keyword = true},
    {"END_CALL", "argument", keyword = true},
  },
}

function RandomSource:configure(a)
  a.DATA = ""
  InfiniteSource.configure(self, a)
end

local make_infinite = InfiniteSource.make

function RandomSource:make()
  local p = make_infinite(self)
  local data = p.data
  for k = 0, p.length - 1 do data[k] = random(0, 255) end
  return p
end

return {RandomSample, RandomBitErrors, RandomSeed, RandomSource}
