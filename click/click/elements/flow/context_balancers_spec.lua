-- SPDX-License-Identifier: Apache-2.0
-- CTXIPLoadBalancer and its reverse, and CTXIPRoute.

local click = require("testing.click")

local SOURCE = [[
  InfiniteSource(hello, 6, STOP true) -> RoundRobinSwitch => (
    [0] -> UDPIPEncap(10.0.0.1, 5000, 10.0.0.9, 53) -> [0];
    [1] -> UDPIPEncap(10.0.0.2, 5000, 10.0.0.9, 53) -> [0];
    [2] -> UDPIPEncap(10.0.0.3, 5000, 10.9.0.9, 53) -> [0]
  ) -> CTXManager(CONTEXT NONE) -> ]]

describe("CTXIPLoadBalancer", function ()
  it("gives flows servers in turn, with sound checksums", function ()
    local r = click.run(SOURCE .. [[l :: CTXIPLoadBalancer(10.1.0.1, 10.1.0.2)
      -> CheckIPHeader -> CheckUDPHeader -> IPPrint(TIMESTAMP false) -> c :: Counter
      -> Discard]])
    assert.same({"l :: CTXIPLoadBalancer has 2 routes",
      "10.0.0.1.5000 > 10.1.0.1.53: udp 13", "10.0.0.2.5000 > 10.1.0.2.53: udp 13",
      "10.0.0.3.5000 > 10.1.0.1.53: udp 13", "10.0.0.1.5000 > 10.1.0.1.53: udp 13",
      "10.0.0.2.5000 > 10.1.0.2.53: udp 13", "10.0.0.3.5000 > 10.1.0.1.53: udp 13"},
      r.said)
    r:close()
    r = click.run(SOURCE .. [[CTXIPLoadBalancerReverse(10.7.0.1) -> CheckIPHeader
      -> CheckUDPHeader -> IPPrint(TIMESTAMP false) -> Discard]])
    assert.equal("10.7.0.1.5000 > 10.0.0.9.53: udp 13", r.said[1])
    r:close()
  end)

  it("needs servers, and a manager", function ()
    local _, problem = click.router("Idle -> CTXIPLoadBalancer() -> Discard")
    assert.matches("DST", problem)
    _, problem = click.router("Idle -> CTXIPLoadBalancer(1.0.0.1) -> Discard")
    assert.matches("no flow manager is in front of it", problem)
  end)
end)

describe("CTXIPRoute", function ()
  it("looks at the header's destination, and sets the gateway", function ()
    local r = click.run(SOURCE .. [[r ::
      CTXIPRoute(10.0.0.0/24 1, 10.9.0.0/16 10.5.0.1 0);
      r[0] -> StoreIPAddress(16) -> IPPrint(far, TIMESTAMP false) -> Discard;
      r[1] -> IPPrint(near, TIMESTAMP false) -> Discard]])
    assert.same({"near: 10.0.0.1.5000 > 10.0.0.9.53: udp 13",
      "near: 10.0.0.2.5000 > 10.0.0.9.53: udp 13",
      "far: 10.0.0.3.5000 > 10.5.0.1.53: udp 13"}, {r.said[1], r.said[2], r.said[3]})
    r:close()
  end)

  it("drops what has no route or no header", function ()
    local unit = click.unit("CTXIPRoute(10.1.0.0/16 0)")
    assert.same({}, unit:send("\69" .. ("\0"):rep(15) .. "\10\2\0\1"))
    assert.same({}, unit:send("\69" .. ("\0"):rep(15) .. "\10\1\0"))
    assert.same({["no route"] = 1, ["no IPv4 header"] = 1}, unit.lost)
    assert.equal(1, #unit:send("\69" .. ("\0"):rep(15) .. "\10\1\0\1"))
    unit:free()
    local _, problem = click.router("Idle -> CTXIPRoute(10.1.0.0/16 1) -> Discard")
    assert.matches("need 2 or more output ports", problem)
  end)
end)
