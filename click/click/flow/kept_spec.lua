-- SPDX-License-Identifier: Apache-2.0
-- Flow managers' flows that outlive the process, and what elements behind keep of them.

local click = require("testing.click")
local going_on = require("net.keep.going_on")
local keep = require("net.keep.keep")
local kept = require("testing.kept")
local outside = require("core.outside.visitors")
local stderr = require("testing.stderr")

local FIELDS = "src sport dst dport proto"
local PRINT = "IPPrint(TIMESTAMP false, PAYLOAD false) -> Discard"
local FLOW = "1.0.0.%d 5 2.0.0.2 80 T"

-- Keep what the router's managers have from now on.
local function go_on(r)
  for _, e in ipairs(r.order) do
    local item = e.kept_state and e:kept_state()
    if item then
      item.of = e.name
      keep.records(item)
    end
  end
end

-- Let those that wait be taken over.
local function finish()
  local function has(text) return stderr.told():find(text, 1, true) end
  while has("while packets flow") and not has("goes on with") do outside.tend(0) end
end

-- What becomes of packets of the flows of these numbers, behind a manager and
-- `elements`: "SOURCE > DESTINATION" each. `look(r)`, at the end.
local function run(elements, numbers, look)
  local lines = {}
  for i, n in ipairs(numbers) do lines[i] = FLOW:format(n) end
  local r = click.run_dump(FIELDS, lines, ("SOURCE -> m :: FlowIPManager(TIMEOUT 60) "
    .. "-> %s -> %s"):format(elements, PRINT), go_on)
  local list = {}
  for _, line in ipairs(r.said) do
    list[#list + 1] = line:match("[%d.]+ > [%d.]+")
  end
  finish()
  if look then look(r) end
  r:close()
  return list
end

local function port(n) return ("9.8.7.6.%d > 2.0.0.2.80"):format(n) end

it("Flows of a manager are the copies' that take flows at first", function ()
  kept.set_up()
  finally(kept.tear_down)
  local takers = {}
  click.run_dump(FIELDS, {FLOW:format(1)}, "SOURCE -> m :: FlowIPManager -> Discard",
    function (r)
      for i, copy in ipairs{{number = 1, of = 2}, {number = 1, of = 2, takers = 1}} do
        r.options.copy = copy
        takers[i] = r:find("m"):kept_state().restore.context("").copies
      end
      r.options.copy = nil
    end):close()
  assert.same({2, 1}, takers)
end)

local few = going_on.FEW
for how, at_once in pairs{["before packets flow"] = few, ["while packets flow"] = 0} do

describe("Flows of a manager, taken over " .. how .. ",", function ()
  before_each(function ()
    kept.set_up()
    going_on.FEW = at_once
  end)
  after_each(function ()
    going_on.FEW = few
    kept.tear_down()
  end)

  it("have their ports still, which nobody else gets", function ()
    local NAT = "FlowIPNAT(9.8.7.6)"
    assert.same({port(1024), port(1025), port(1026)}, run(NAT, {1, 2, 3}))
    kept.again()
    assert.same({port(1026), port(1027), port(1025), port(1024)},
      run(NAT, {3, 4, 2, 1}))
    assert.truthy(stderr.told():find("m goes on with 3 of 3 records\n", 1, true))
    stderr.keep()
    kept.again()
    run("FlowIPNAT(9.8.7.7)", {1})
    assert.truthy(stderr.told():find("not used: 4 of another SIP\n", 1, true))
  end)

  it("have answers that come first, or alone", function ()
    local text = [[SOURCE -> c :: IPClassifier(src net 1.0.0.0/8, -);
      c[0] -> m :: FlowIPManager(TIMEOUT 60) -> n :: FlowIPNAT(9.8.7.6) -> p :: ]]
      .. PRINT:gsub(" %->.*", "") .. [[ -> Discard;
      c[1] -> FlowIPManager -> FlowIPNATReverse(n) -> p]]
    local function passed(lines)
      local r = click.run_dump(FIELDS, lines, text, go_on)
      local list = {}
      for i, line in ipairs(r.said) do list[i] = line:match("[%d.]+ > [%d.]+") end
      finish()
      local pool = r:find("n").ports
      local free = pool.count
      r:close()
      return list, free
    end
    local out, free = passed{FLOW:format(1), FLOW:format(2)}
    assert.same({port(1024), port(1025)}, out)
    kept.again()
    local back, left = passed{"2.0.0.2 80 9.8.7.6 1025 T", "3.0.0.3 1 9.8.7.6 1030 T",
      FLOW:format(3)}
    assert.same({"2.0.0.2.80 > 1.0.0.2.5", port(1026)}, back)
    assert.equal(free - 1, left)
  end)

  it("let go of their ports if they can't go on", function ()
    run("n :: FlowIPNAT(9.8.7.6)", {1, 2, 3})
    kept.again()
    stderr.keep()
    local lines = {FLOW:format(4)}
    local r = click.run_dump(FIELDS, lines, "SOURCE -> "
      .. "m :: FlowIPManager(1, TIMEOUT 60) -> n :: FlowIPNAT(9.8.7.6) -> " .. PRINT,
      go_on)
    finish()
    local pool, used = r:find("n").ports, 0
    for p = 0, 65535 do used = used + math.min(pool.mappings[p].used, 1) end
    assert.equal(1, used)
    assert.equal(65536 - 1024 - 1, pool.count)
    assert.truthy(stderr.told():find("above the capacity", 1, true))
    r:close()
  end)

  it("have their servers still, whatever numbers those have", function ()
    local function balanced(servers, numbers)
      return run("FlowIPLoadBalancer(" .. servers .. ", VIP 9.9.9.9)", numbers)
    end
    local function to(n, server) return ("1.0.0.%d.5 > %s.80"):format(n, server) end
    assert.same({to(1, "7.0.0.1"), to(2, "7.0.0.2"), to(3, "7.0.0.1")},
      balanced("DST 7.0.0.1, DST 7.0.0.2", {1, 2, 3}))
    kept.again()
    assert.same({to(3, "7.0.0.1"), to(2, "7.0.0.2"), to(1, "7.0.0.1")},
      balanced("DST 7.0.0.3, DST 7.0.0.2, DST 7.0.0.1", {3, 2, 1}))
    stderr.keep()
    kept.again()
    assert.same({to(2, "7.0.0.2")}, balanced("DST 7.0.0.9, DST 7.0.0.2", {2}))
    assert.truthy(stderr.told():find("m goes on with 1 of 3 records; not used: 2 of a "
      .. "server that is gone\n", 1, true))
  end)

  it("have server and port of a FlowNAPTLoadBalancer still", function ()
    local LB = "FlowNAPTLoadBalancer(DST 7.0.0.1, DST 7.0.0.2, SIP 8.0.0.1, "
      .. "SIP 8.0.0.2, STATE false)"
    local OTHER = "FlowNAPTLoadBalancer(DST 7.0.0.2, DST 7.0.0.1, SIP 8.0.0.2, "
      .. "SIP 8.0.0.1, STATE false)"
    local before = run(LB, {1, 2, 3})
    for _, elements in ipairs{OTHER, LB} do
      kept.again()
      assert.same({before[3], before[1], before[2]}, run(elements, {3, 1, 2}))
    end
  end)

  it("are counted", function ()
    run("c :: FlowCounter", {1, 2, 2})
    kept.again()
    run("c :: FlowCounter", {2, 3}, function (r)
      assert.equal("3", tostring(r:handler_read("c.open")))
    end)
  end)

  it("begin anew where other elements keep something of them", function ()
    run("FlowIPNAT(9.8.7.6)", {1, 2})
    kept.again()
    run("FlowNAPTLoadBalancer(DST 7.0.0.1, SIP 8.0.0.1, STATE false)", {1})
    assert.truthy(stderr.told():find("2 kept by elements that are others now", 1, true))
  end)

  it("believe no file", function ()
    local NAT = "n :: FlowIPNAT(9.8.7.6)"
    local numbers = {}
    for i = 1, 40 do numbers[i] = i end
    run(NAT, numbers)
    kept.mutate("m", kept.MUTANTS / 5, function ()
      local said = run(NAT, {1, 2, 50}, function (r)
        local pool, flows = r:find("n").ports, r:find("m").table
        local used = 0
        for p = 0, 65535 do
          if pool.mappings[p].used ~= 0 then used = used + 1 end
        end
        assert.equal(65536 - 1024, pool.count + used)
        assert.truthy(used <= flows:count())
      end)
      assert.equal(3, #said)
    end)
  end)
end)

end
