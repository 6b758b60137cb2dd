-- SPDX-License-Identifier: Apache-2.0
-- Placing graphs that place nothing themselves.

local placement = require("core.cpus.placement")
local config = require("core.config")
local measure = require("core.cpus.measure")

local Class = {new = function () end}

local function chain(n)
  local c = config.new()
  for i = 1, n do
    config.app(c, "a" .. i, Class)
    if i > 1 then config.link(c, ("a%d.output -> a%d.input"):format(i - 1, i)) end
  end
  return c
end

-- The least that the busiest of `parts` can have, by trying all cuts.
local function best(list, from, parts)
  local sum, least = 0, math.huge
  for i = from, #list do
    sum = sum + list[i]
    if i == #list then return math.min(least, sum) end
    if parts > 1 then
      least = math.min(least, math.max(sum, best(list, i + 1, parts - 1)))
    end
  end
  return least
end

describe("core.cpus.measure", function ()
  it("shares out what was measured", function ()
    local totals = {packets = 10, samples = 1, receive = 30, send = 10,
                    tasks = {["b+1"] = 80, d = 7}}
    assert.same({a = 4, b = 4, c = 4, d = 0.7}, measure.share_out(totals,
      {{description = {apps = {"b", "c"}}}}, {"a"}))
    assert.is_nil(measure.share_out({packets = 0, samples = 0, tasks = {}}, {}, {}))
  end)
end)

describe("core.cpus.placement", function ()
  after_each(function ()
    placement.use(nil)
    placement.copies(nil)
    placement.weigh(nil)
  end)

  it("cuts chains as evenly as can be", function ()
    math.randomseed(5)
    for _ = 1, 100 do
      local n, parts = math.random(1, 9), math.random(1, 4)
      local given, list, cpus = {}, {}, {}
      for i = 1, n do
        list[i] = math.random(1, 50)
        given["a" .. i] = list[i]
      end
      for i = 1, parts do cpus[i] = 10 + i end
      local placed, loads = placement.cut(chain(n), cpus, given)
      local most, before, sums = 0, 0, {}
      for i = 1, n do
        local cpu = placed["a" .. i]
        assert.is_true(cpu >= before) -- pieces are whole
        before = cpu
        sums[cpu] = (sums[cpu] or 0) + list[i]
      end
      assert.same(sums, loads)
      for _, sum in pairs(sums) do most = math.max(most, sum) end
      assert.equal(best(list, 1, parts), most)
    end
  end)

  it("leaves alone what is placed, and programs without --cpus", function ()
    local c = chain(2)
    assert.is_false(placement.concerns(c))
    placement.use("1,2")
    assert.is_true(placement.concerns(c))
    assert.is_false(placement.concerns(config.new()))
    config.cpu(c, "a1", 1)
    assert.is_false(placement.concerns(c))
  end)

  it("says what it did and why", function ()
    placement.use("1,2")
    placement.weigh{a1 = 10, a2 = 5, a3 = 4.5}
    local c = placement.place(chain(3))
    assert.same({a1 = 1, a2 = 2, a3 = 2}, c.cpus)
    assert.same({"placed by a cut where the measured cycles balance best",
      "CPU 1: a1 (10.0 cycles a packet)", "CPU 2: a2, a3 (9.5 cycles a packet)"},
      placement.reasons())
    placement.copies(function () return {"a1", "a2", "a3"} end)
    c = placement.place(chain(3))
    assert.same({a1_1 = 1, a2_1 = 1, a3_1 = 1, a1_2 = 2, a2_2 = 2, a3_2 = 2}, c.cpus)
    assert.same({"placed as copies on each CPU: the program allows that",
      "CPU 1: a1_1, a2_1, a3_1", "CPU 2: a1_2, a2_2, a3_2"}, placement.reasons())
  end)

  -- A port of one queue, or of many; what is behind it.
  local Lone = {new = Class.new, division = "any", split = function () end}
  local Many = {new = Class.new, division = "any",
    split = function (_, n, i) return ("%d/%d"):format(i, n) end}

  local function behind(port, class, arg)
    local c = config.new()
    config.app(c, "port", port)
    config.app(c, "app", class, arg)
    config.link(c, "port.output -> app.input")
    config.link(c, "app.output -> port.input")
    placement.use("1,2")
    return placement.place(c)
  end

  it("copies apps whose classes say how they are divided", function ()
    local Stateful = {new = Class.new, division = function (arg) return arg end}
    local c = behind(Many, Stateful, "flow")
    assert.same({port_1 = 1, app_1 = 1, port_2 = 2, app_2 = 2}, c.cpus)
    assert.equal("1/2", c.apps.port_2.arg)
    assert.equal("placed as copies on each CPU: each gets the packets of its flows, by "
      .. "addresses and ports", placement.reasons()[1])
    assert.same({"  by flow: packets of two addresses and ports, both ways, to one "
      .. "copy: app", "  any packet to any copy: port"}, placement.told())
    c = behind(Lone, Stateful, "addresses")
    assert.equal(1, c.cpus.port)
    assert.same({by = "addresses"}, c.apps.port_output_flows.arg)
    c = behind(Lone, Stateful, "any") -- not worth while
    assert.same({port = 1, app = 2}, c.cpus)
  end)

  it("cuts the graph where a class can't be divided, and tells why", function ()
    for _, class in ipairs{Class, {new = Class.new, division = "none",
      undivided = "it is blue"}} do
      local c = behind(Many, class)
      assert.same({port = 1, app = 2}, c.cpus)
      assert.same({"  not divided: " .. (class.undivided or "its class doesn't say how "
        .. "copies of it could divide packets") .. ": app",
        "  any packet to any copy: port"}, placement.told())
    end
  end)
end)
