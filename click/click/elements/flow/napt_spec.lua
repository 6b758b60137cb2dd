-- SPDX-License-Identifier: Apache-2.0
-- What they do to packets is compared with FastClick's in test/click_elements.json.

local click = require("testing.click")

local FIELDS = "src sport dst dport proto tcp_flags"
local SERVERS = "1.1.0.1, 1.2.0.1, SIP 1.1.0.9 1.2.0.9"

local function run(lines, text, prepare)
  return click.run_dump(FIELDS, lines, text, prepare)
end

local function read(r, name) return (tostring(assert(r:handler_read(name)))) end

-- What IPPrint told, in order: "from > to".
local function told(r)
  local list = {}
  for _, line in ipairs(r.said) do
    list[#list + 1] = line:match("%d+%.%d+%.%d+%.%d+%.%d+ > [%d.]+%d")
  end
  return list
end

local PRINT = "IPPrint(TIMESTAMP false, PAYLOAD false)"
local CLIENTS = [[SOURCE -> c :: IPClassifier(src net 9.0.0.0/8, -);
  c[0] -> FlowIPManager -> l :: FlowNAPTLoadBalancer(ARGUMENTS) -> CheckIPHeader
  -> there :: Counter -> ]] .. PRINT .. [[ -> Discard;
  c[1] -> FlowIPManager -> FlowNAPTLoadBalancerReverse(l) -> CheckIPHeader
  -> back :: Counter -> ]] .. PRINT .. " -> Discard"

local function clients(arguments) return (CLIENTS:gsub("ARGUMENTS", arguments)) end

describe("FlowNAPTLoadBalancer", function ()
  it("brings packets there and back, with right checksums", function ()
    local lines = {}
    for i = 1, 40 do
      lines[i] = ("9.0.0.%d %d 5.5.5.5 80 %s S"):format(i % 7, 100 + i % 5,
        i % 2 == 0 and "T" or "U")
    end
    local r = run(lines, ([[SOURCE -> FlowIPManager -> l :: FlowNAPTLoadBalancer(%s)
      -> CheckIPHeader -> out :: IPClassifier(tcp, udp);
      out[0] -> CheckTCPHeader -> there :: Counter; out[1] -> CheckUDPHeader -> there
      -> IPMirror -> FlowIPManager -> FlowNAPTLoadBalancerReverse(l) -> CheckIPHeader
      -> b :: IPClassifier(src 5.5.5.5 and dst net 9.0.0.0/8 and src port 80 and tcp,
        src 5.5.5.5 and dst net 9.0.0.0/8 and src port 80 and udp);
      b[0] -> CheckTCPHeader -> ends :: Counter; b[1] -> CheckUDPHeader -> ends
      -> Discard]]):format(SERVERS))
    assert.equal("40", read(r, "there.count"))
    assert.equal("40", read(r, "ends.count"))
    assert.equal(read(r, "l.conn"), read(r, "l.open"))
    r:close()
  end)

  it("lets only the flow's server answer", function ()
    local r = run({"9.0.0.1 7 5.5.5.5 80 T S", "1.2.0.1 80 1.1.0.9 1024 T SA",
      "1.1.0.1 80 1.1.0.9 1024 T SA", "1.1.0.1 80 1.1.0.9 1025 T SA"},
      clients(SERVERS))
    assert.same({"1.1.0.9.1024 > 1.1.0.1.80", "5.5.5.5.80 > 9.0.0.1.7"}, told(r))
    assert.equal("1", read(r, "l.open"))
    r:close()
  end)

  it("counts an answered flow once, also where its answers' flow ends", function ()
    local answer = " 1.1.0.1 80 1.1.0.9 1024 U ."
    local r = click.run_dump("timestamp " .. FIELDS, {"1 9.0.0.1 7 5.5.5.5 80 U .",
      "2" .. answer, "30" .. answer, "31 9.0.0.2 7 5.5.5.5 80 U ."},
      (clients(SERVERS):gsub("%-> FlowIPManager %-> FlowNAPTLoadBalancerReverse",
        "-> FlowIPManager(TIMEOUT 9) -> FlowNAPTLoadBalancerReverse")))
    assert.equal("2", read(r, "back.count"))
    assert.same({"2", "1"}, {read(r, "l.conn"), read(r, "l.open")})
    r:close()
  end)

  it("begins TCP connections with SYN, where it watches them", function ()
    local lines = {"9.0.0.1 7 5.5.5.5 80 T A", "9.0.0.1 7 5.5.5.5 80 T S",
      "9.0.0.2 7 5.5.5.5 80 U ."}
    local r = run(lines, clients(SERVERS))
    assert.same({"1.1.0.9.1024 > 1.1.0.1.80", "1.2.0.9.1025 > 1.2.0.1.80"}, told(r))
    r:close()
    r = run(lines, clients(SERVERS .. ", STATE false"))
    assert.equal("3", read(r, "there.count"))
    r:close()
  end)

  it("gives a port back when the connection has ended", function ()
    local r = run({"9.0.0.1 7 5.5.5.5 80 T S", "1.1.0.1 80 1.1.0.9 1024 T SA",
      "9.0.0.1 7 5.5.5.5 80 T FA", "9.0.0.2 7 5.5.5.5 80 T S",
      "1.1.0.1 80 1.1.0.9 1024 T FA", "9.0.0.3 7 5.5.5.5 80 T S",
      "1.1.0.1 80 1.1.0.9 1024 T A"},
      clients(SERVERS), function (r) r:find("l").ports.count = 1 end)
    assert.same({"1.1.0.9.1024 > 1.1.0.1.80", "5.5.5.5.80 > 9.0.0.1.7",
      "1.1.0.9.1024 > 1.1.0.1.80", "5.5.5.5.80 > 9.0.0.1.7",
      "1.2.0.9.1024 > 1.2.0.1.80"}, told(r))
    assert.matches("no more ports available", table.concat(r.said, "\n"), 1, true)
    r:close()
  end)

  it("wants a SIP for each DST", function ()
    local _, problem = click.router("Idle -> FlowIPManager "
      .. "-> FlowNAPTLoadBalancer(1.1.1.1, SIP 1.1.1.2 1.1.1.3) -> Discard")
    assert.matches("The number of SIP must match DST", problem, 1, true)
  end)
end)
