-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

local run = click.run_dump

local FIELDS = "src sport dst dport proto"

local function count(r, name) return tonumber((r:handler_read(name .. ".count"))) end

local PRINT = "IPPrint(TIMESTAMP false, PAYLOAD false)"

-- The sources of the packets that IPPrint has told of.
local function sources(r)
  local list = {}
  for _, line in ipairs(r.said) do list[#list + 1] = line:match("([%d.]+) > ") end
  return list
end

-- The sources of packets that have passed a FlowIPNAT.
local function translated(arguments, fields, lines, prepare)
  local r = run(fields, lines, ("SOURCE -> FlowIPManager(TIMEOUT 10) "
    .. "-> n :: FlowIPNAT(%s) -> %s -> Discard"):format(arguments, PRINT), prepare)
  local list = sources(r)
  r:close()
  return list
end

describe("FlowIPNAT", function ()
  it("brings packets there and back, with right checksums", function ()
    math.randomseed(5)
    local lines = {}
    for i = 1, 400 do
      lines[i] = ('1.0.0.%d %d 2.0.0.%d %d %s "%s"'):format(math.random(3),
        math.random(5), math.random(3), math.random(5), i % 2 == 0 and "T" or "U",
        ("x"):rep(math.random(0, 9)))
    end
    local r = run(FIELDS .. " payload", lines, [[
      SOURCE -> FlowIPManager -> n :: FlowIPNAT(9.8.7.6) -> CheckIPHeader
      -> out :: IPClassifier(src 9.8.7.6 and tcp, src 9.8.7.6 and udp);
      out[0] -> CheckTCPHeader -> there :: Counter; out[1] -> CheckUDPHeader -> there
      -> IPMirror -> FlowIPManager -> FlowIPNATReverse(n) -> CheckIPHeader
      -> back :: IPClassifier(dst net 1.0.0.0/8 and tcp and dst port < 6,
        dst net 1.0.0.0/8 and udp and dst port < 6);
      back[0] -> CheckTCPHeader -> ends :: Counter; back[1] -> CheckUDPHeader -> ends
      -> Discard]])
    assert.equal(400, count(r, "there"))
    assert.equal(400, count(r, "ends"))
    r:close()
  end)

  it("gives a port anew when its flow has ended, the oldest first", function ()
    assert.same({"9.0.0.9.1024", "9.0.0.9.1025", "9.0.0.9.1024"},
      translated("9.0.0.9", "timestamp " .. FIELDS, {
        "1 1.0.0.1 1 2.0.0.2 2 U", "2 1.0.0.2 1 2.0.0.2 2 U", "3 1.0.0.3 1 2.0.0.2 2 U",
        "30 1.0.0.4 1 2.0.0.2 2 U",
      }, function (r) r:find("n").ports.count = 2 end))
  end)

  it("keeps the port while answers come", function ()
    local lines = {}
    for i = 1, 40 do lines[i] = ("%d 2.0.0.2 2 9.0.0.9 1024 U"):format(i) end
    lines[1] = "1 1.0.0.1 1 2.0.0.2 2 U"
    lines[31] = "31 1.0.0.7 1 2.0.0.2 2 U"
    local r = run("timestamp " .. FIELDS, lines, [[
      SOURCE -> c :: IPClassifier(src net 1.0.0.0/8, -);
      c[0] -> FlowIPManager(TIMEOUT 5) -> n :: FlowIPNAT(9.0.0.9) -> ]] .. PRINT .. [[
      -> Discard;
      c[1] -> FlowIPManager(TIMEOUT 5) -> FlowIPNATReverse(n)
      -> mine :: IPClassifier(dst 1.0.0.1 and dst port 1, -) -> back :: Counter
      -> Discard; mine[1] -> Discard]], function (r) r:find("n").ports.count = 1 end)
    assert.same({"9.0.0.9.1024"}, sources(r))
    assert.equal(38, count(r, "back"))
    r:close()
  end)

  it("sees connections end, where it looks", function ()
    local fields = FIELDS .. " tcp_flags"
    local lines = {
      "1.0.0.1 1 2.0.0.2 2 T S", "1.0.0.1 1 2.0.0.2 2 T RA", "1.0.0.1 1 2.0.0.2 2 T A",
      "1.0.0.1 1 2.0.0.2 2 T S",
    }
    assert.same({"9.0.0.9.1024", "9.0.0.9.1024", "9.0.0.9.1024", "9.0.0.9.1025"},
      translated("9.0.0.9, STATE true", fields, lines))
    assert.same({"9.0.0.9.1024", "9.0.0.9.1024", "9.0.0.9.1024", "9.0.0.9.1024"},
      translated("9.0.0.9", fields, lines))
  end)

  it("gives the port back when both sides have sent FIN", function ()
    local r = run(FIELDS .. " tcp_flags", {
      "1.0.0.1 1 2.0.0.2 2 T S", "2.0.0.2 2 9.0.0.9 1024 T SA",
      "1.0.0.1 1 2.0.0.2 2 T FA", "2.0.0.2 2 9.0.0.9 1024 T FA",
      "1.0.0.1 1 2.0.0.2 2 T A",
      "2.0.0.2 2 9.0.0.9 1024 T FA", "3.0.0.3 3 9.0.0.9 1024 T S",
    }, [[SOURCE -> c :: IPClassifier(src net 1.0.0.0/8, -);
      c[0] -> FlowIPManager -> n :: FlowIPNAT(9.0.0.9, STATE true) -> there :: Counter
      -> Discard;
      c[1] -> FlowIPManager -> FlowIPNATReverse(n) -> back :: Counter -> Discard]])
    assert.equal(3, count(r, "there"))
    assert.equal(3, count(r, "back")) -- the last one has no mapping
    local n = r:find("n").ports
    assert.equal(65536 - 1024, n.count)
    assert.equal(0, n.mappings[1024].used)
    r:close()
  end)

  it("drops what it can't map", function ()
    assert.same({"9.0.0.9.1024"}, translated("9.0.0.9, ACCEPT_NONSYN false",
      FIELDS .. " tcp_flags", {"1.0.0.1 1 2.0.0.2 2 T A", "1.0.0.1 1 2.0.0.2 2 T S",
      "1.0.0.1 1 2.0.0.2 2 I ."}))
  end)

  it("needs a FlowIPNAT to bring answers back to", function ()
    local _, problem = click.router("n :: Null; Idle -> n -> FlowIPManager "
      .. "-> FlowIPNATReverse(n) -> Discard")
    assert.matches("NAT: element type mismatch, expected FlowIPNAT", problem, 1, true)
  end)
end)
