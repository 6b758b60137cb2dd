-- SPDX-License-Identifier: Apache-2.0
-- Which servers flows get is compared with FastClick's in test/click_elements.json.

local click = require("testing.click")

local SERVERS = "VIP 9.9.9.9, DST 1.0.0.1, DST 1.0.0.2, DST 1.0.0.3"

-- A router with `n` packets of each of 20 flows, of UDP, in front of a load balancer of
-- these arguments, and `rest` behind it.
local function router(arguments, n, rest)
  local text = {("InfiniteSource(hello, %d, STOP true) -> s :: RoundRobinSwitch;")
    :format(20 * n), "m :: FlowIPManager(TIMEOUT 100);"}
  for i = 0, 19 do
    text[#text + 1] = ("s[%d] -> UDPIPEncap(10.0.0.%d, %d, 10.0.0.9, 53) -> m;")
      :format(i, i % 5 + 1, 1000 + i)
  end
  text[#text + 1] = ("m -> l :: FlowIPLoadBalancer(%s, %s) -> %s"):format(SERVERS,
    arguments, rest or "Discard")
  return click.router(table.concat(text, " "))
end

local function read(r, text) return (tostring(assert(r:handler_read(text)))) end

-- What the handler says after the run.
local function after(arguments, n, handler, rest)
  local r = assert(router(arguments, n, rest))
  r:run()
  local text = read(r, handler)
  r:close()
  return text
end

local function problem(arguments) return (select(2, router(arguments, 1))) end

describe("FlowIPLoadBalancer", function ()
  it("keeps a flow with its server, and counts", function ()
    assert.equal("21 21 18", after("FORCE_TRACK_LOAD true", 3, "l.load_packets"))
    assert.equal("693 693 594", after("FORCE_TRACK_LOAD true", 3, "l.load_bytes"))
    assert.equal("0 0 0", after("", 3, "l.load_packets"))
    for _, mode in ipairs{"hash", "pow2", "least", "awrr"} do
      local text = after("FORCE_TRACK_LOAD true, LST_MODE packets, LB_MODE " .. mode, 5,
        "l.load_packets")
      local sum = 0
      for n in text:gmatch("%d+") do
        sum = sum + n
        assert.equal(0, n % 5, text)
      end
      assert.equal(100, sum)
    end
  end)

  it("leaves checksums right, there and back", function ()
    assert.equal("60", after("LB_MODE hash", 3, "c.count",
      "CheckIPHeader -> CheckUDPHeader -> IPMirror -> FlowIPLoadBalancerReverse(l) "
      .. "-> CheckIPHeader -> CheckUDPHeader -> IPFilter(allow src 9.9.9.9) "
      .. "-> c :: Counter -> Discard"))
  end)

  it("adds and removes servers, but not the last", function ()
    local r = assert(router("NSERVER 1, LB_MODE cst_hash_agg", 1))
    local sizes = {}
    for _, name in ipairs{"remove_server", "add_server", "add_server", "add_server",
                          "remove_server"} do
      assert(r:handler_write("l." .. name, ""))
      sizes[#sizes + 1] = read(r, "l.nb_active_servers")
    end
    assert.same({"1", "2", "3", "3", "2"}, sizes)
    assert.equal("3", read(r, "l.nb_total_servers"))
    assert.same({"No server to remove!", "No server to add!"}, {r.said[2], r.said[3]})
    r:close()
  end)

  it("counts a flow's connection once, until it or its flow ends", function ()
    local fields = "timestamp src sport dst dport proto tcp_flags"
    local lines = {"1 1.0.0.1 1 9.9.9.9 80 T S", "2 1.0.0.1 1 9.9.9.9 80 T S",
      "3 1.0.0.2 1 9.9.9.9 80 T S", "4 1.0.0.2 1 9.9.9.9 80 T FA",
      "5 1.0.0.2 1 9.9.9.9 80 T RA", "6 1.0.0.3 1 9.9.9.9 80 T S",
      "40 1.0.0.4 1 9.9.9.9 80 T S"}
    for class, arguments in pairs{FlowIPLoadBalancer = SERVERS,
      FlowNAPTLoadBalancer = "1.0.0.1, 1.0.0.2, 1.0.0.3, SIP 2.0.0.1 2.0.0.2 2.0.0.3",
      FlowL2LoadBalancer = "0:0:0:0:0:1, 0:0:0:0:0:2, 0:0:0:0:0:3"} do
      local expected = {[3] = "1 1 0", [5] = "1 0 0", [6] = "1 0 1", [7] = "1 0 0"}
      for n, loads in pairs(expected) do
        local r = click.run_dump(fields, {unpack(lines, 1, n)}, ([[SOURCE
          -> FlowIPManager(TIMEOUT 9) -> l :: %s(%s, FORCE_TRACK_LOAD true)
          -> Discard]]):format(class, arguments))
        assert.equal(loads, read(r, "l.load_conn"), ("%s, %d packets"):format(class, n))
        r:close()
      end
    end
  end)

  it("is told of loads, all or none", function ()
    local r = assert(router("LB_MODE least, LST_MODE cpu", 1))
    assert(r:handler_write("l.load", "0:5,2:7"))
    assert.equal("5 0 7", read(r, "l.load"))
    assert.equal("7", read(r, "l.load 2"))
    assert.equal("unknown", read(r, "l.load 3"))
    for text, why in pairs{["1:9,3:1"] = "Invalid server id 3",
                           ["1:9,x"] = "'x' isn't SERVER:LOAD"} do
      local ok, said = r:handler_write("l.load", text)
      assert.is_false(ok)
      assert.matches(why, said, 1, true)
    end
    assert.equal("5 0 7", read(r, "l.load"))
    assert(r:handler_write("l.load_raw", "0:100"))
    assert(r:handler_write("l.load_raw", "0:130"))
    assert.equal("30 0 7", read(r, "l.load"))
    r:close()
  end)

  it("takes more servers when the load is high, fewer when it is low", function ()
    local r = assert(router("AUTOSCALE true, LST_MODE cpu", 1))
    assert(r:handler_write("l.load", "0:90,1:90,2:90"))
    assert.equal("2", read(r, "l.nb_active_servers"))
    assert(r:handler_write("l.load", "0:10,1:10,2:10"))
    assert.equal("1", read(r, "l.nb_active_servers"))
    r:close()
  end)

  it("refuses what isn't there, and says what is", function ()
    for arguments, why in pairs{
      ["LB_MODE fast"] = "LB_MODE: 'fast' is none of rr, wrr,",
      ["LST_MODE heat"] = "LST_MODE: 'heat' is none of conn,",
      ["NSERVER 4"] = "NSERVER: 4 of 3 servers",
    } do
      assert.matches(why, problem(arguments), 1, true)
    end
  end)
end)
