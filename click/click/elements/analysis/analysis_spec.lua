-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local dumps = require("testing.click_dumps")
local note = require("click.note")
local packet = require("core.packet")

local DATA = "!data timestamp src sport\n1.0 1.0.0.1 7\n3.5 1.0.0.2 8\n"

local function source(arguments)
  local unit = click.unit(("FromIPSummaryDump(DATA \"%s\"%s)"):format(DATA, arguments),
    {inputs = 0})
  return unit
end

describe("FromIPSummaryDump", function ()
  it("sends the packets of a dump, and stops the router at its end", function ()
    local unit = source(", STOP true")
    assert.same({}, unit.errors)
    assert.equal(2, #unit:work(2))
    assert.equal("1.0.0.1 7", dumps.line("src sport", unit.packets[1]))
    assert.is_nil(unit.stopped)
    unit:work(5)
    assert.is_true(unit.stopped)
    assert.is_false(unit.element:scheduled())
    unit:free()
    unit.element:cleanup()
  end)

  it("sends several at once, or keeps their times", function ()
    local unit = source(", BURST 5")
    assert.equal(2, #unit:work())
    unit:free()
    unit = source(", TIMING true")
    assert.equal(1, #unit:work(5))
    assert.equal(0, #unit:wait(2.4))
    assert.equal(0, #unit:work(5))
    unit:wait(0.2)
    assert.equal(1, #unit:work(5))
    unit:free()
    unit.element:cleanup()
  end)

  it("waits until it is active", function ()
    local unit = source(", ACTIVE false")
    assert.equal(0, #unit:work(3))
    assert.is_nil(unit:write("active", "true"))
    assert.equal(2, #unit:work(3))
    unit:free()
    unit.element:cleanup()
  end)

  it("sends each of the packets that a line stands for", function ()
    local unit = click.unit("FromIPSummaryDump(MULTIPACKET true, DATA \"!data "
      .. "timestamp first_timestamp count src ip_len\n3 1 3 1.0.0.1 300\n\")",
      {inputs = 0})
    unit:work(5)
    local lines = {}
    for i, p in ipairs(unit.packets) do lines[i] = dumps.line("timestamp ip_len", p) end
    assert.same({"1.000000 100", "2.000000 100", "3.000000 100"}, lines)
    unit:free()
    unit.element:cleanup()
  end)

  it("wants one file, or data", function ()
    assert.same({"FILENAME: required argument missing"},
      click.unit("FromIPSummaryDump()").errors)
    assert.same({"FILENAME and DATA conflict"},
      click.unit("FromIPSummaryDump(x, DATA y)").errors)
    assert.matches("^/nowhere/x: No such file",
      click.unit("FromIPSummaryDump(/nowhere/x)").errors[1])
    assert.same({}, click.unit("FromIPSummaryDump(/nowhere/x, ALLOW_NONEXISTENT true)")
      .errors)
  end)
end)

describe("ToIPSummaryDump", function ()
  it("writes lines, and passes packets if it has an output", function ()
    local unit = click.unit("ToIPSummaryDump(-, FIELDS src proto, BANNER hello)")
    local p = dumps.packet("src proto", "1.0.0.1 U")
    assert.equal(1, #unit:send(p))
    assert.equal("!IPSummaryDump 1.3\n!creator \"hello\"\n!data ip_src ip_proto\n"
      .. "1.0.0.1 U\n", unit.printed)
    unit:free()
    unit = click.unit("ToIPSummaryDump(-, FIELDS src, HEADER false)", {outputs = 0})
    unit:send(dumps.packet("src", "1.0.0.1"))
    assert.same({"1.0.0.1\n", {written = 1}}, {unit.printed, unit.lost})
  end)

  it("refuses fields that there aren't", function ()
    assert.same({"unknown content type 'x'"},
      click.unit("ToIPSummaryDump(-, FIELDS src x)").errors)
    assert.same({"cannot use field payload with BINARY"},
      click.unit("ToIPSummaryDump(-, FIELDS payload, BINARY true)").errors)
  end)
end)

describe("IPPrint", function ()
  local function printed(arguments, fields, line, change)
    local unit = click.unit(("IPPrint(%s)"):format(arguments))
    assert.same({}, unit.errors)
    local p = dumps.packet(fields, line)
    if change then change(p) end
    unit:send(p)
    unit:free()
    return unit.said[1]
  end

  it("prints a line about the packet", function ()
    for _, case in ipairs{
      {"x, TIMESTAMP false", "src dst sport dport proto tcp_seq tcp_flags payload",
        '1.0.0.1 2.0.0.2 7 8 T 5 SA "abc"',
        "x: 1.0.0.1.7 > 2.0.0.2.8: S 5:9(4,43,43) ack 0 win 0"},
      {"", "timestamp src dst sport dport proto", "5 1.0.0.1 2.0.0.2 7 8 U",
        "5.000000: 1.0.0.1.7 > 2.0.0.2.8: udp 8"},
      {"TIMESTAMP false, TTL true, TOS true, ID true, LENGTH true",
        "src dst proto ip_id ip_ttl ip_tos", "1.0.0.1 2.0.0.2 47 9 8 7",
        "id 9 ttl 8 tos 7 length 20 1.0.0.1 > 2.0.0.2: ip-proto-47"},
      {"TIMESTAMP false, PAINT true, AGGREGATE true", "src dst proto link aggregate",
        "1.0.0.1 2.0.0.2 47 3 4", "#4.3: 1.0.0.1 > 2.0.0.2: ip-proto-47"},
      {"TIMESTAMP false", "src dst proto icmp_type icmp_flowid icmp_seq",
        "1.0.0.1 2.0.0.2 I 8 7 9", "1.0.0.1 > 2.0.0.2: icmp echo (7, 9)"},
      {"TIMESTAMP false, SWAP false", "src dst proto icmp_type icmp_flowid",
        "1.0.0.1 2.0.0.2 I 0 7", "1.0.0.1 > 2.0.0.2: icmp echo-reply (1792, 0)"},
      {"TIMESTAMP false", "src dst proto icmp_type icmp_code", "1.0.0.1 2.0.0.2 I 11 0",
        "1.0.0.1 > 2.0.0.2: icmp timeexceeded transit"},
      {"TIMESTAMP false", "src dst proto ip_id ip_fragoff ip_len",
        "1.0.0.1 2.0.0.2 T 9 80+ 60",
        "1.0.0.1 > 2.0.0.2: tcp (frag 9:40@80+)"},
      {"TIMESTAMP false, ETHER true", "eth_src eth_dst src dst proto",
        "00-01-02-03-04-05 0A-0B-0C-0D-0E-0F 1.0.0.1 2.0.0.2 47",
        "00-01-02-03-04-05 > 0A-0B-0C-0D-0E-0F: 1.0.0.1 > 2.0.0.2: ip-proto-47"},
      {"TIMESTAMP false, PAYLOAD ascii", "src dst proto payload",
        '1.0.0.1 2.0.0.2 U "hello\\nworld"',
        "1.0.0.1.0 > 2.0.0.2.0: udp 19\n  hello.wo rld"},
      {"TIMESTAMP false, PAYLOAD hex, MAXLENGTH 5", "src dst proto payload",
        '1.0.0.1 2.0.0.2 U "hello"', "1.0.0.1.0 > 2.0.0.2.0: udp 13\n  68656c6c 6f"},
    } do
      assert.equal(case[4], printed(case[1], case[2], case[3]))
    end
  end)

  it("says what is cut off", function ()
    local fields, line = "src dst proto", "1.0.0.1 2.0.0.2 T"
    local function cut(n)
      return printed("TIMESTAMP false", fields, line, function (p) p.length = n end)
    end
    assert.equal("truncated-ip", cut(19))
    assert.equal("1.0.0.1 > 2.0.0.2: truncated-tcp", cut(23))
    assert.equal("1.0.0.1.0 > 2.0.0.2.0: truncated-tcp", cut(33))
    assert.equal("1.0.0.1.0 > 2.0.0.2.0: . 0:0(0,34,40)truncated-tcp", cut(34))
  end)

  it("refuses what makes no sense", function ()
    assert.same({"bad contents value 'X'; should be 'NONE', 'HEX', or 'ASCII'"},
      click.unit("IPPrint(CONTENTS x)").errors)
    assert.same({"specify at most one of PAYLOAD and CONTENTS"},
      click.unit("IPPrint(CONTENTS hex, PAYLOAD hex)").errors)
  end)
end)

describe("AggregateCounter", function ()
  local function count(unit, aggregates)
    for _, aggregate in ipairs(aggregates) do
      local p = packet.from_string("abc")
      note.clear(p)
      p.note32[note.AGGREGATE] = aggregate
      unit:send(p)
    end
    unit:free()
  end

  it("counts by aggregate", function ()
    local unit = click.unit("AggregateCounter()")
    count(unit, {1, 1, 0, 4294967295})
    unit:write("write_text_file", "-")
    assert.equal("!IPAggregate 1.0\n!num_nonzero 3\n0 1\n1 2\n4294967295 1\n",
      unit.printed)
    assert.same({4, 3}, {unit:read("count"), unit:read("nagg")})
    unit:write("reaggregate_counts")
    unit.printed = ""
    unit:write("write_ip_file", "-")
    assert.equal("!IPAggregate 1.0\n!num_nonzero 2\n!ip\n0.0.0.1 2\n0.0.0.2 1\n",
      unit.printed)
  end)

  it("counts nothing new while it is frozen, and tells by its outputs", function ()
    local unit = click.unit("AggregateCounter(BYTES true)", {outputs = 2})
    count(unit, {5})
    unit:write("freeze", "true")
    local p = packet.from_string("abc")
    p.note32[note.AGGREGATE] = 6
    assert.equal(2, unit:send(p)[1][1])
    count(unit, {5})
    assert.same({6, 1}, {unit:read("count"), unit:read("nagg")})
    unit:free()
  end)
end)

describe("AggregateIPFlows", function ()
  it("numbers flows, and paints directions", function ()
    local unit = click.unit("AggregateIPFlows()")
    local function pass(line)
      local p = unit:pass(dumps.packet("timestamp src sport dst dport proto tcp_flags",
        line))
      local text = dumps.line("aggregate link", p)
      packet.free(p)
      return text
    end
    assert.equal("1 0", pass("1 1.0.0.1 7 2.0.0.2 8 T S"))
    assert.equal("1 1", pass("2 2.0.0.2 8 1.0.0.1 7 T SA"))
    assert.equal("2 0", pass("3 2.0.0.2 9 1.0.0.1 7 T S"))
    assert.equal("1 0", pass("4 1.0.0.1 7 2.0.0.2 8 T R"))
    assert.equal("3 0", pass("5 1.0.0.1 7 2.0.0.2 8 T S"))
    assert.equal("3 0", pass("80000 1.0.0.1 7 2.0.0.2 8 T A"))
    assert.equal("4 0", pass("180000 1.0.0.1 7 2.0.0.2 8 T A"))
    unit.element:cleanup()
  end)

  it("keeps fragments until it knows their ports", function ()
    local unit = click.unit("AggregateIPFlows()")
    local fields = "timestamp src sport dst dport proto ip_id ip_fragoff ip_len"
    assert.same({}, unit:send(dumps.packet(fields, "1 1.0.0.1 7 2.0.0.2 8 U 5 24 80")))
    assert.equal(1, unit.kept)
    unit:send(dumps.packet(fields, "2 1.0.0.1 7 2.0.0.2 8 U 5 0+ 24"))
    unit:write("clear")
    local lines = {}
    for i, p in ipairs(unit.packets) do
      lines[i] = dumps.line("aggregate ip_fragoff", p)
    end
    assert.same({"1 24", "1 0+"}, lines)
    unit:free()
    unit.element:cleanup()
  end)

  it("drops what has no ports", function ()
    local unit = click.unit("AggregateIPFlows(FRAGMENTS false)")
    unit:send(dumps.packet("src dst proto", "1.0.0.1 2.0.0.2 I"))
    unit:send(dumps.packet("src dst proto ip_fragoff", "1.0.0.1 2.0.0.2 U 80"))
    assert.same({["no flow"] = 2}, unit.lost)
    unit.element:cleanup()
  end)
end)
