-- SPDX-License-Identifier: Apache-2.0
-- Flow managers' flows when another router takes the place of theirs (hotconfig).

local click = require("testing.click")
local stderr = require("testing.stderr")

local FLOW = "1.0.0.%d 5 2.0.0.2 80 T"

describe("Flows of a manager, over a hot swap,", function ()
  local routers
  before_each(function ()
    routers = {}
    stderr.keep()
  end)
  after_each(function ()
    for _, r in ipairs(routers) do r:close() end
    stderr.leave()
  end)

  -- What becomes of packets of the flows of these numbers, in a router that takes the
  -- place of the last one: "SOURCE > DESTINATION" each.
  local function run(elements, numbers)
    local lines = {}
    for i, n in ipairs(numbers) do lines[i] = FLOW:format(n) end
    local old = routers[#routers]
    local r = click.run_dump("src sport dst dport proto", lines,
      ("SOURCE -> m :: FlowIPManager(TIMEOUT 60) -> %s -> IPPrint(TIMESTAMP false, "
        .. "PAYLOAD false) -> Discard"):format(elements),
      function (new) if old then new:find("m"):take_state(old:find("m")) end end)
    routers[#routers + 1] = r
    local list = {}
    for _, line in ipairs(r.said) do
      list[#list + 1] = line:match("[%d.]+ > [%d.]+")
    end
    return list
  end

  local function port(n) return ("9.8.7.6.%d > 2.0.0.2.80"):format(n) end
  local function to(n, server) return ("1.0.0.%d.5 > %s.80"):format(n, server) end

  it("have their ports still, which nobody else gets", function ()
    local NAT = "FlowIPNAT(9.8.7.6)"
    run(NAT, {1, 2, 3})
    for _ = 1, 2 do
      assert.same({port(1026), port(1025), port(1024)}, run(NAT, {3, 2, 1}))
    end
    assert.same({port(1027), port(1024)}, run(NAT, {4, 1}))
    assert.is_nil(stderr.told():find("not used", 1, true))
    run("FlowIPNAT(9.8.7.7)", {1})
    assert.truthy(stderr.told():find("m goes on with 0 of 4 flows; not used: 4 of "
      .. "another SIP\n", 1, true))
  end)

  it("have their servers still, whatever numbers those have", function ()
    local function balanced(servers, numbers)
      return run("FlowIPLoadBalancer(" .. servers .. ", VIP 9.9.9.9)", numbers)
    end
    balanced("DST 7.0.0.1, DST 7.0.0.2", {1, 2, 3})
    assert.same({to(3, "7.0.0.1"), to(2, "7.0.0.2"), to(1, "7.0.0.1")},
      balanced("DST 7.0.0.3, DST 7.0.0.2, DST 7.0.0.1", {3, 2, 1}))
    assert.same({to(2, "7.0.0.2")}, balanced("DST 7.0.0.9, DST 7.0.0.2", {2}))
    assert.truthy(stderr.told():find("2 of a server that is gone\n", 1, true))
  end)

  it("begin again where other elements keep something of them", function ()
    run("FlowIPNAT(9.8.7.6)", {1, 2})
    assert.same({to(1, "2.0.0.2")}, run("FlowCounter", {1}))
    assert.truthy(stderr.told():find("2 kept by elements that are others now", 1, true))
    run("Null", {1})
    assert.truthy(stderr.told():find("1 kept by elements that are others now", 1, true))
  end)

  it("are as old as they were", function ()
    run("FlowCounter", {1, 2, 3})
    local old = routers[1]:find("m")
    for n = 1, 3 do old.table.record[n].age.expiry = old:time() + 1000 * n end
    run("FlowCounter", {})
    local new = routers[2]:find("m")
    local now = new:time()
    assert.equal(3, new.table:count())
    local n = new.table.table.list[0].oldest
    for i = 1, 3 do
      local left = tonumber(new.table.record[n].age.expiry) - now
      assert.is_true(left <= 1000 * i)
      n = new.table.record[n].age.newer
    end
    assert.equal(0, n)
  end)
end)
