-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local signals = require("click.router.signals")

-- The names of the elements whose signals the element `name` asks upstream.
local function upstream(text, name)
  local r = assert(click.router(text))
  local found = {}
  for _, signal in ipairs(r:signals(r:find(name), 1)) do
    local owner = signal == signals.BUSY and "busy"
    for _, e in ipairs(r.elements) do
      if rawget(e, "signal") == signal then owner = e.name end
    end
    found[#found + 1] = owner
  end
  table.sort(found)
  r:close()
  return table.concat(found, " ")
end

local QUEUES = "Idle -> a :: Queue; Idle -> b :: Queue; "

describe("click.router.signals", function ()
  it("finds the queues upstream, through other elements", function ()
    assert.equal("a", upstream(QUEUES .. "a -> Strip(1) -> u :: Unqueue -> Discard;"
      .. "b -> Discard", "u"))
    assert.equal("a b", upstream(QUEUES .. "a -> r :: RoundRobinSched -> u :: Unqueue "
      .. "-> Discard; b -> [1]r", "u"))
  end)

  it("is busy where some element doesn't tell", function ()
    assert.equal("busy",
      upstream("Idle -> SimpleQueue -> u :: Unqueue -> Discard", "u"))
    assert.equal("busy", upstream(QUEUES .. "a -> r :: RoundRobinSched -> u :: Unqueue "
      .. "-> Discard; b -> Discard; Idle -> SimpleQueue -> [1]r", "u"))
    assert.equal("Idle@1", upstream("Idle@1 :: Idle -> u :: Unqueue -> Discard", "u"))
  end)

  it("stops at elements that tell themselves", function ()
    local text = QUEUES .. "a -> p :: PullSwitch -> u :: Unqueue -> Discard; b -> [1]p"
    assert.equal("p", upstream(text, "u"))
    local r = assert(click.router(QUEUES .. "a -> t :: TimeSortedSched -> u :: Unqueue"
      .. "-> Discard; b -> [1]t"))
    local woken = 0
    local list = r:signals(r:find("u"), 1, function () woken = woken + 1 end)
    assert.equal(1, #list)
    assert.equal(r:find("t").signal, list[1])
    r:find("t").signal:set(false)
    r:find("b").signal:set(false)
    r:find("b").signal:set(true)
    assert.is_true(woken > 0)
    assert.is_true(r:find("t").signal.active)
    r:close()
  end)

  it("wakes those who listen when a signal becomes active", function ()
    local signal, woken = signals.new(true), 0
    signal:listen(function () woken = woken + 1 end)
    signal:set(true)
    signal:set(false)
    assert.equal(0, woken)
    signal:set(true)
    signal:set(false)
    signal:set(true, true)
    assert.equal(1, woken)
  end)

  it("makes one gate of several signals", function ()
    local a, b = signals.new(true), signals.new(false)
    local gate = signals.gate{a, b}
    assert.is_true(gate.active)
    a:set(false)
    assert.is_false(gate.active)
    b:set(true)
    assert.is_true(gate.active)
    assert.equal(a, signals.gate{a})
    assert.is_false(signals.gate{}.active)
  end)
end)
