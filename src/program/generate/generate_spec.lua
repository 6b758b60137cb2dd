-- SPDX-License-Identifier: Apache-2.0
-- The command line, scripts and the report of generate. (Its runs:
-- test/test_generate*.py.)

local cjson = require("cjson")
local failure = require("core.failure")
local options = require("program.generate.options")
local report = require("program.generate.report")
local streams = require("program.generate.streams")
local testing = require("testing.support")

local function script(code)
  local path = testing.temporary(code)
  return path
end

local function refused(pattern, ...)
  local ok, err = pcall(options.parse, {...})
  assert.is_false(ok)
  assert.matches(pattern, tostring(err), 1, true)
end

describe("program.generate.options", function()
  it("takes what Generator takes", function()
    local o = options.parse{"--port", "null", "--stack", "eth,ip6,tcp", "--set",
      "tcpDst=80", "--set", "tcpSrc=random", "--size", "imix", "--rate", "1.5Mpps",
      "--flows", "10", "--count", "1k", "--seed", "3", "--arrivals", "poisson"}
    assert.are.equal("null", o.port)
    assert.are.same({"tcpDst=80", "tcpSrc=random"}, o.set)
    assert.are.same({packets = 1.5e6}, o.rate)
    assert.are.equal(1000, o.count)
    assert.are.same({}, options.parse{"--receive", "null"}.set)
  end)

  it("lets the command line go before the script", function()
    local path = script[[return {stack = "eth,ip4,tcp", set = {"tcpSyn=1"}, size = 72,
      rate = "10kpps", count = 5, packet = function () end}]]
    local o = options.parse{"--port", "null", "--script", path, "--count", "7",
                            "--set", "tcpDst=80"}
    os.remove(path)
    assert.are.equal("eth,ip4,tcp", o.stack)
    assert.are.same({"tcpSyn=1", "tcpDst=80"}, o.set)
    assert.are.same({packets = 1e4}, o.rate)
    assert.are.equal(7, o.count)
    assert.is_function(o.packet)
  end)

  it("refuses in a sentence", function()
    refused("give --port PORT to send, --receive PORT to measure")
    refused("'10' isn't a rate", "--port", "null", "--rate", "10")
    refused("--rate and --set are for sending: give --port PORT too", "--receive",
            "null", "--rate", "1kpps", "--set", "udpDst=1")
    refused("--arrivals needs a --rate", "--port", "null", "--arrivals", "poisson")
    refused("--arrivals", "--port", "null", "--arrivals", "even")
    refused("can't load the script: cannot open /no/such", "--port", "null",
            "--script", "/no/such")
    for code, pattern in pairs{
      ["return 1"] = "must return a table, not a number",
      ["return {sizes = 1}"] = "a script has no 'sizes'; it has stack, set",
      ["return {streams = 1}"] = "`streams` must be a list, not a number",
      ["return {set = 'x'}"] = "`set` must be a list, not a string",
      ["return {count = 0}"] = "`count` must be a whole number of 1 or more, not 0",
      ["return {streams = {{rate = 5}}}"] = "streams[1]: rate: '5' isn't a rate",
      ["return {packet = 1}"] = "`packet` must be a function, not a number",
      ["return {rate = 'x'}"] = "'x' isn't a rate",
      ["return {"] = "can't load the script",
    } do
      local path = script(code)
      refused(pattern, "--port", "null", "--script", path)
      os.remove(path)
    end
  end)
end)

describe("program.generate.streams", function()
  it("are a stack and what differs from the options", function()
    assert.are.same({stack = "eth,ip6,tcp", rate = {packets = 1e6}, size = "imix",
                     set = {"tcpDst=80", "tcpSyn=1", "ip6Src=2001:db8::1"},
                     name = "web", count = 5000, arrivals = "poisson", flows = 7,
                     seed = 3},
      streams.parse("eth,ip6,tcp; rate=1Mpps; size=imix; tcpDst=80; set=tcpSyn=1;"
        .. "ip6Src=2001:db8::1;name=web;count=5k;arrivals=poisson;flows=7;seed=3"))
    assert.are.same({set = {"udpDst=53"}}, streams.parse("udpDst=53"))
    assert.are.same({stack = "eth,ip4,udp,vxlan,innerEth=eth", set = {}},
      streams.parse("eth,ip4,udp,vxlan,innerEth=eth"))
    assert.are.same({set = {"tcpDst=1"}, size = "80"},
      streams.parse("size=80;tcpDst=1", "eth,ip4,tcp"))
  end)

  local function refused_stream(part, func, ...)
    local ok, err = pcall(func, ...)
    assert.is_false(ok)
    assert(failure.is(err), tostring(err))
    assert.matches(part, tostring(err), 1, true)
  end

  it("are refused in a sentence", function()
    for text, part in pairs{
      ["eth,ip4,udp;rte=1Mpps"] = "there is no 'rte'; is 'rate' meant?",
      ["eth,ip4,udp;rate=1"] = "rate: '1' isn't a rate",
      ["eth,ip4,udp;count=0"] = "count: 0 packets would be nothing to do",
      ["eth,ip4,udp;80"] = "'80' isn't of the form NAME=VALUE",
      ["rate=1kpps;rate=2kpps"] = "two values of rate",
      ["arrivals=x"] = "'x' is neither constant nor poisson",
      ["eth,ip9;udpDst=1"] = "no protocol 'ip9'",
      ["name=web;rate=1"] = "stream web: rate: '1' isn't a rate",
      ["eth,ip4,udp; rate=1; name=web"] = "stream web: rate: '1' isn't a rate",
      ["name=a b;rate=1"] = "the stream 'name=a b;rate=1': name: 'a b' isn't a name",
    } do
      refused_stream(part, streams.parse, text)
    end
    refused_stream("two streams are called 'a'", streams.list,
      {set = {}, stream = {"name=a", "name=a"}})
    local many = {}
    for i = 1, 33 do many[i] = "size=80" end
    refused_stream("there are 33 streams; 32 are possible", streams.list,
      {set = {}, stream = many})
    for part, given in pairs{
      ["streams[1] is a table of a stream's parts, not a number"] = 7,
      ["streams[1] has no 'rte' that is a string"] = {rte = "x"},
      ["streams[1] has no 'packet' that is a string"] = {packet = "x"},
      ["streams[1]: rate: '7' isn't a rate"] = {rate = 7},
      ["stream web: rate: '7' isn't a rate"] = {rate = 7, name = "web"},
    } do
      refused_stream(part, streams.list, {set = {}, streams = {given}})
    end
  end)

  it("have what they don't say from the options", function()
    local function packet() end
    local list = streams.list{set = {"ip4TTL=9"}, size = "100", count = 7,
      packet = packet, stream = {"udpDst=53;name=dns", "eth,ip6,udp;size=80"},
      streams = {{set = {"udpDst=1"}, count = 3}}}
    assert.are.same({name = "dns", set = {"ip4TTL=9", "udpDst=53"}, size = "100",
                     count = 7, packet = packet}, list[1])
    assert.are.same({"2", "eth,ip6,udp", "80"}, {list[2].name, list[2].stack,
                                                 list[2].size})
    assert.are.same({"3", 3, {"ip4TTL=9", "udpDst=1"}}, {list[3].name, list[3].count,
                                                         list[3].set})
    assert.are.same({{set = {}}}, streams.list{set = {}})
  end)

  it("change source and destination on the way back", function()
    local list = streams.list{set = {"ip4Src=10.0.0.1..10.0.0.9", "udpDst=53",
      "innerEthDst=02:00:00:00:00:01", "ip4TTL=7"}, size = "99"}
    local back = streams.back(list)
    assert.are.same({"ip4Dst=10.0.0.1..10.0.0.9", "udpSrc=53",
      "innerEthSrc=02:00:00:00:00:01", "ip4TTL=7"}, back[1].set)
    assert.are.equal("99", back[1].size)
    assert.are.equal("udpDst=53", list[1].set[2])
  end)
end)

describe("program.generate.report", function()
  local function sent(changes)
    local s = {
      port = "null", packets = 1001, bytes = 60060, bits = 672672, numbered = 1001,
      seconds = 1, scheduled = 1, latest = 0.002, pps = 1000, bit_rate = 672000,
      rate = {packets = 1000}, arrivals = "constant", records = "all", least = 60,
      unsent = 0, cpu = 0.5, drops = {{name = "too short", count = 0}},
    }
    for key, value in pairs(changes or {}) do s[key] = value end
    return s
  end

  it("says what was asked for and what was kept", function()
    assert.are.equal("sent: 1,001 packets, 60,060 bytes in 1.000 s to null\n"
      .. "requested: 1.000 kpps, constant gaps\n"
      .. "achieved: 1.000 kpps, 672.000 kbit/s on the wire\n"
      .. "the rate was kept\ndropped by null, queue 0: 0\n", report.text{sent = sent()})
    assert.matches("the rate was not kept: 98.0 % of it; a packet was up to 2.000 ms"
      .. " late\n", report.text{sent = sent{seconds = 1 / 0.98}}, 1, true)
    assert.matches("the rate was kept\n", report.text{sent = sent{seconds = 1.009}}, 1,
                   true)
  end)

  it("says what a packet cost, if there was no rate to wait for", function()
    local text = report.text{sent = sent{rate = false, packets = 1e7}}
    assert.matches("as fast as it goes\nachieved: 1.000 kpps, 672.000 kbit/s on the"
                   .. " wire\nCPU time: 50.0 ns a packet\ndropped", text, 1, true)
  end)

  it("tells no rate of a single burst", function()
    local text = report.text{sent = sent{rate = false, seconds = 0, pps = 0}}
    assert.matches("achieved: no rate, since all were in one burst\n", text, 1, true)
  end)

  it("says what is missing", function()
    local text = report.text{sent = sent{unsent = 5, records = "none", drops = {
      {name = "too short", count = 3}, {name = "failed in the device", count = 2000}}}}
    assert.matches("dropped by null, queue 0: 2,003 (3 too short, 2,000 failed in the"
                   .. " device)\nnot sent: 5, which the port didn't take\n"
                   .. "packets of less than 60 bytes have no room", text, 1, true)
  end)

  it("says where packets were lost that came", function()
    local got = {
      port = "ring:a", packets = 90, bytes = 5400, bits = 60480, seconds = 0.5, pps = 1,
      bit_rate = 1, numbered = 90, distinct = 90, lost = 10, duplicates = 0,
      reordered = 0, too_late = 0, other = 0, unclear = 0,
      missed = {{name = "without room in the port", count = 6},
                {name = "with errors", count = 0}},
    }
    assert.matches("lost: 10 (10 %)\nduplicates: 0, reordered: 0 (0 %)\n"
      .. "lost in ring:a, queue 0: 6 (6 without room in the port)\n"
      .. "lost elsewhere: 4, which this port hasn't counted\n",
      report.text{received = got}, 1, true)
    assert.matches("lost elsewhere: 3, which neither port counted\n",
      report.text{received = got, sent = sent{drops = {{name = "x", count = 1}}}}, 1,
      true)
    assert.are.equal(6, cjson.decode(report.json{received = got}).received.missed)
    got.missed[1].count = 0
    assert.not_matches("lost in", report.text{received = got})
    got.lost = 0
    assert.not_matches("lost elsewhere", report.text{received = got})
  end)

  it("knows the share of the rate that was kept", function()
    assert.is_nil(report.kept{packets = 9, seconds = 1})
    assert.are.equal(0.5, report.kept(sent{seconds = 2}))
    assert.are.equal(1, report.kept(sent{seconds = 0.5}))
    assert.are.equal(1, report.kept(sent{packets = 1, seconds = 0}))
  end)

  it("says what came, as text and as JSON", function()
    local got = {
      port = "null", packets = 99, bytes = 5940, bits = 66528, seconds = 0.5,
      pps = 198, bit_rate = 133056, numbered = 98, distinct = 100, lost = 4,
      duplicates = 2, reordered = 3, too_late = 1, other = 1, unclear = 0,
      latency = {count = 98, min = 999, mean = 2000, median = 1000, p90 = 2e3,
                 p99 = 3e6, p999 = 4e9, max = 5e9},
    }
    assert.are.equal("received: 99 packets, 5,940 bytes in 0.500 s from null\n"
      .. "rate: 198 pps, 133.056 kbit/s on the wire\n"
      .. "lost: 4 (3.85 %)\nduplicates: 2, reordered: 3 (3 %)\n"
      .. "too late to know whether reordered or doubled: 1\nwithout a number: 1\n"
      .. "latency: min 999 ns, median 1.000 us, p90 2.000 us, p99 3.000 ms,"
      .. " p99.9 4.000 s, max 5.000 s\n"
      .. "of 98 packets; the percentiles are within 0.1 %\n",
      report.text{received = got})
    local data = cjson.decode(report.json{sent = sent(), received = got})
    assert.are.equal(1001, data.sent.packets)
    assert.are.equal(1000, data.sent.requested_pps)
    assert.are.equal(4, data.received.lost)
    assert.are.equal(3e6, data.received.latency_ns.p99)
    assert.are.equal(98, data.received.latency_count)
  end)
end)
