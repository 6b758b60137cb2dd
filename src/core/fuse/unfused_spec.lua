-- SPDX-License-Identifier: Apache-2.0
-- Classes of programs of Snabb's that are derived from per-packet apps, or hold one.

local basic = require("apps.basic.basic_apps")
local changes = require("testing.changes")
local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local PcapFilter = require("apps.packet_filter.pcap_filter").PcapFilter
local RateLimiter = require("apps.rate_limiter.rate_limiter").RateLimiter
local vlan = require("apps.vlan.vlan")

after_each(function () engine.configure(config.new()) end)

-- Each {class, its argument, a frame's length as it comes out (nil: it doesn't)}.
local CASES = {
  {basic.Truncate, 40, 40},
  {basic.Sample, 1, 60},
  {PcapFilter, {filter = "ip proto tcp"}},
  {PcapFilter, {filter = "not ip"}, 60},
  {RateLimiter, {rate = 1e9, bucket_capacity = 1e9}, 60},
  {RateLimiter, {rate = 1, bucket_capacity = 1}},
  {vlan.Tagger, {tag = 7}, 64},
  {vlan.Untagger, {tag = 7}},
}

-- Ways to use the class in one of one's own; each returns a class, and how often its
-- push() was called is in `pushes`.
local pushes
local WAYS = {}

-- Own with a push() that counts and calls the class's.
local function counting(Own, class)
  function Own:push()
    pushes = pushes + 1
    class.push(self)
  end
  return Own
end

function WAYS.derived_with_index(class)
  local Own = setmetatable({}, {__index = class})
  Own.__index = Own
  return counting(Own, class)
end

function WAYS.derived_without_index(class)
  return counting(setmetatable({}, {__index = class}), class)
end

function WAYS.with_its_methods_by_name(class)
  local Own = {config = class.config}
  function Own:new(arg)
    return setmetatable(class:new(arg), {__index = Own})
  end
  return counting(Own, class)
end

function WAYS.holding_one(class)
  local Own = {config = class.config}
  function Own:new(arg)
    local inner = class:new(arg)
    return setmetatable({inner = inner, shm = inner.shm}, {__index = Own})
  end
  function Own:push()
    pushes = pushes + 1
    local inner = self.inner
    inner.input, inner.output, inner.shm = self.input, self.output, self.shm
    inner:push()
  end
  return Own
end

function WAYS.push_replaced(class)
  local Own = {config = class.config}
  function Own:new(arg)
    local app = class:new(arg)
    local push = app.push
    function app:push()
      pushes = pushes + 1
      push(self)
    end
    return app
  end
  return Own
end

describe("a class of a program's own", function ()
  -- The lengths that come out for 20 frames of 60 bytes.
  local function lengths(class, arg)
    local out = {}
    local Taker = {new = function () return {push = function (self)
      local l = self.input.input
      while not link.empty(l) do
        local p = link.receive(l)
        out[#out + 1] = p.length
        packet.free(p)
      end
    end} end}
    local Giver = {new = function () return {pull = function (self)
      if self.done then return end
      self.done = true
      for _ = 1, 20 do
        link.transmit(self.output.output, packet.from_string(("\0"):rep(60)))
      end
    end} end}
    engine.configure(changes.graph({g = {Giver}, own = {class, arg}, t = {Taker}},
      {"g.output -> own.input", "own.output -> t.input"}))
    for _ = 1, 3 do engine.breathe() end
    return out
  end

  for way, derive in pairs(WAYS) do
    it("calls push() of the one it uses: " .. way, function ()
      for _, case in ipairs(CASES) do
        pushes = 0
        local out = lengths(derive(case[1]), case[2])
        assert.equal(3, pushes)
        assert.equal(case[3] and 20 or 0, #out)
        for _, length in ipairs(out) do assert.equal(case[3], length) end
      end
    end)
  end

  it("is fused if it has no push() of its own", function ()
    local Own = setmetatable({}, {__index = basic.Truncate})
    engine.configure(changes.graph({s = {basic.Source}, a = {Own, 10},
      b = {basic.Truncate, 20}, k = {basic.Sink}},
      {"s.x -> a.input", "a.output -> b.input", "b.output -> k.x"}))
    assert.equal(1, #engine.regions)
    assert.same({}, {engine.not_fused.a, engine.not_fused.b})
  end)
end)
