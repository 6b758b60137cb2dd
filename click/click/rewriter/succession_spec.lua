-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local dumps = require("testing.click_dumps")

local FIELDS = "src sport dst dport proto"
local PATTERN = "pattern 9.0.0.9 1024-65535# - - 0 1"

local function rewriter(arguments, others, class)
  return click.unit(("%s(%s)"):format(class or "IPRewriter", arguments),
    {inputs = 2, outputs = 2, others = others})
end

local function pass(...) return dumps.pass(FIELDS, ...) end

local OUT, BACK = "1.0.0.1 7 2.0.0.2 80 ", "2.0.0.2 80 9.0.0.9 1024 "

describe("A rewriter that replaces another", function ()
  it("keeps its flows, whatever their age and protocol", function ()
    local old = rewriter(PATTERN .. ", drop")
    local out = {T = pass(old, OUT .. "T"), U = pass(old, OUT .. "U")}
    local new = rewriter(PATTERN .. ", drop")
    new.element:take_state(old.element)
    old.element:cleanup()
    for protocol, line in pairs(out) do
      assert.equal(line, pass(new, OUT .. protocol))
      local source, sport = line:match("^(%S+) (%d+)")
      assert.equal("2.0.0.2 80 1.0.0.1 7 " .. protocol,
        pass(new, ("2.0.0.2 80 %s %s %s"):format(source, sport, protocol), 2))
    end
    assert.equal(2, new:read("table_size"))
    -- A port that is taken isn't given again.
    assert.equal("9.0.0.9 1025 2.0.0.2 80 T", pass(new, "1.0.0.3 7 2.0.0.2 80 T"))
    assert.equal(0, old:read("table_size"))
    assert.is_nil(pass(old, BACK .. "T", 2))
  end)

  it("does so again and again #slow", function ()
    local unit = rewriter(PATTERN .. ", drop")
    local line = pass(unit, OUT .. "T")
    for _ = 1, 5 do
      local old = unit
      unit = rewriter(PATTERN .. ", drop")
      unit.element:take_state(old.element)
      old = nil -- luacheck: no unused
      collectgarbage()
    end
    assert.equal(line, pass(unit, OUT .. "T"))
    assert.equal("2.0.0.2 80 1.0.0.1 7 T", pass(unit, BACK .. "T", 2))
    assert.equal(1, unit:read("table_size"))
    unit:write("clear")
    assert.equal(0, unit:read("table_size"))
  end)

  it("drops those of inputs that do something else now", function ()
    local old = rewriter("pattern 9.0.0.9 1024-65535# - - 0 1, " ..
      "pattern 8.0.0.8 1024-65535# - - 0 1")
    pass(old, OUT .. "T")
    local kept = pass(old, "3.0.0.3 7 2.0.0.2 80 T", 2)
    local new = rewriter("pattern 7.0.0.7 1024-65535# - - 0 1, "
      .. "pattern 8.0.0.8 1024-65535# - - 0 1")
    new.element:take_state(old.element)
    assert.equal("7.0.0.7 1024 2.0.0.2 80 T", pass(new, OUT .. "T"))
    assert.equal(kept, pass(new, "3.0.0.3 7 2.0.0.2 80 T", 2))
    assert.equal(2, new:read("table_size"))
  end)

  it("takes no more than there is room for, and its own times", function ()
    local old = rewriter(PATTERN .. ", drop")
    for i = 1, 9 do pass(old, ("1.0.0.%d 7 2.0.0.2 80 U"):format(i)) end
    local new = rewriter(PATTERN .. ", drop, MAPPING_CAPACITY 4, UDP_TIMEOUT 1, "
      .. "UDP_GUARANTEE 0")
    new.element:take_state(old.element)
    assert.equal(4, new:read("size"))
    assert.equal(4, new:read("capacity"))
  end)

  it("copies flows that share a capacity", function ()
    local function both()
      local first = rewriter(PATTERN .. ", drop")
      local second = rewriter(PATTERN .. ", drop, MAPPING_CAPACITY first",
        {first = first.element})
      return first, second
    end
    local old_first, old_second = both()
    local a = pass(old_first, OUT .. "T")
    local b = pass(old_second, "3.0.0.3 7 2.0.0.2 80 U")
    local first, second = both()
    second.element:take_state(old_second.element)
    first.element:take_state(old_first.element)
    assert.equal(a, pass(first, OUT .. "T"))
    assert.equal(b, pass(second, "3.0.0.3 7 2.0.0.2 80 U"))
    assert.equal(2, first:read("size"))
    assert.same({1, 1}, {first:read("table_size"), second:read("table_size")})
  end)

  it("does so for addresses and pings", function ()
    for _, class in ipairs{"IPAddrRewriter", "IPAddrPairRewriter", "TCPRewriter",
      "UDPRewriter"} do
      local arguments = (class:find("Addr") and "pattern 9.0.0.1-9.0.0.200 - 0 1"
        or PATTERN) .. ", drop"
      local old, new = rewriter(arguments, nil, class), rewriter(arguments, nil, class)
      local line = pass(old, OUT .. "T")
      assert.truthy(line)
      new.element:take_state(old.element)
      assert.equal(line, pass(new, OUT .. "T"))
      assert.equal(1, new:read("table_size"))
    end
  end)
end)
