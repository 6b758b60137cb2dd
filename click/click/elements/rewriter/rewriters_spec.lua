-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local dumps = require("testing.click_dumps")
local ip = require("core.declare")("net/checksum/checksum.h")
local packet = require("core.packet")

local FIELDS = "src sport dst dport proto"

local function line_of(p, fields)
  if not p then return nil end
  local line = dumps.line(fields or FIELDS, p)
  packet.free(p)
  return line
end

-- Send the packet of a line to an input: its output, and the line of what came out.
local function send(unit, line, i)
  local p, output = unit:pass(dumps.packet(FIELDS, line), i)
  return output, line_of(p)
end

-- It comes out of an output as this line.
local function expect(output, wanted, ...)
  assert.same({output, wanted}, {send(...)})
end

-- Are the checksums of a packet right?
local function sums_are_right(p)
  local header, l4 = p.buf_addr + p.note16[1], p.buf_addr + p.note16[2]
  local length = p.data_off + p.length - p.note16[2]
  if ip.pg_checksum_word(header, 20) ~= 0 then return false end
  if header[9] == 1 then return ip.pg_checksum_word(l4, length) == 0 end
  return ip.pg_ip4_l4_checksum(header, l4, length) == 0
end

describe("IPRewriter", function ()
  it("rewrites flows, and replies back", function ()
    local unit = click.unit("IPRewriter(pattern 9.0.0.9 1024-65535# - - 0 1, drop)",
      {inputs = 2, outputs = 2})
    assert.same({}, unit.errors)
    expect(1, "9.0.0.9 1024 2.0.0.2 80 T", unit, "1.0.0.1 7 2.0.0.2 80 T")
    expect(1, "9.0.0.9 1025 2.0.0.2 80 T", unit, "1.0.0.2 7 2.0.0.2 80 T")
    expect(1, "9.0.0.9 1024 2.0.0.2 80 T", unit, "1.0.0.1 7 2.0.0.2 80 T")
    expect(2, "2.0.0.2 80 1.0.0.2 7 T", unit, "2.0.0.2 80 9.0.0.9 1025 T", 2)
    -- UDP has its own mappings, though the pattern goes on.
    assert.is_nil(send(unit, "2.0.0.2 80 9.0.0.9 1025 U", 2))
    expect(1, "9.0.0.9 1026 2.0.0.2 80 U", unit, "1.0.0.1 7 2.0.0.2 80 U")
    assert.same({["no mapping"] = 1}, unit.lost)
    assert.equal(3, unit:read("table_size"))
    assert.equal("9.0.0.9 1024 2.0.0.2 80",
      unit:read("tcp_lookup", "1.0.0.1 7 2.0.0.2 80"))
    assert.equal("", unit:read("tcp_lookup", "1.0.0.1 7 2.0.0.2 81"))
  end)

  it("counts what finds no port by that reason", function ()
    local unit = click.unit("IPRewriter(pattern 9.0.0.9 1024-1025 - - 0 1, drop)",
      {inputs = 2, outputs = 2})
    for i = 1, 5 do send(unit, ("1.0.0.%d 7 2.0.0.2 80 U"):format(i)) end
    send(unit, "2.0.0.2 80 9.0.0.9 1030 U", 2)
    assert.same({["no port or address is free"] = 3, ["no mapping"] = 1}, unit.lost)
    assert.equal(3, unit:read("mapping_failures"))
  end)

  it("leaves right checksums right, there and back", function ()
    local unit = click.unit("IPRewriter(pattern 9.8.7.6 1024-65535# 5.4.3.2 99 0 1, "
      .. "drop)", {inputs = 2, outputs = 2})
    math.randomseed(3)
    local wrong = {}
    for i = 1, 300 do
      local protocol = i % 2 == 0 and "T" or "U"
      local line = ("%d.%d.0.%d %d 2.0.0.2 %d %s"):format(math.random(1, 255),
        math.random(0, 255), math.random(0, 255), math.random(1, 65535),
        math.random(1, 65535), protocol)
      local p = unit:pass(dumps.packet(FIELDS .. " payload",
        line .. (" \"%s\""):format(("x"):rep(math.random(0, 9)))))
      if not sums_are_right(p) then wrong[#wrong + 1] = line end
      local _, _, source, sport = dumps.line(FIELDS, p):find("^(%S+) (%d+)")
      packet.free(p)
      p = unit:pass(dumps.packet(FIELDS, ("5.4.3.2 99 %s %s %s"):format(source, sport,
        protocol)), 2)
      if not sums_are_right(p) then wrong[#wrong + 1] = "reply to " .. line end
      local back = dumps.line("dst dport src sport proto", p)
      packet.free(p)
      if back ~= line then wrong[#wrong + 1] = back end
    end
    assert.same({}, wrong)
  end)

  it("drops what has no ports, unless its input passes that", function ()
    local unit = click.unit("IPRewriter(pattern 9.0.0.9 1024-65535# - - 0 1, pass 1)",
      {inputs = 2, outputs = 2})
    local function fragment()
      return dumps.packet("src dst ip_fragoff", "1.0.0.1 2.0.0.2 80")
    end
    assert.same({}, unit:send(fragment()))
    assert.equal(2, unit:send(fragment(), 2)[1][1])
    assert.equal(2, (send(unit, "1.0.0.1 7 2.0.0.2 80 I", 2)))
    assert.same({}, unit:send("not an IP packet"))
    local short = dumps.packet(FIELDS, "1.0.0.1 7 2.0.0.2 80 U")
    short.length = 27
    assert.same({}, unit:send(short))
    assert.same({["not rewritten"] = 2, ["fragment without ports"] = 1}, unit.lost)
    unit:free()
  end)

  it("forgets flows when there is no room, not those that are guaranteed", function ()
    local unit = click.unit("IPRewriter(pattern 9.0.0.9 1024-65535# - - 0 0, "
      .. "MAPPING_CAPACITY 2)")
    local function new(i) return (send(unit, ("1.0.0.%d 7 2.0.0.2 80 T"):format(i))) end
    assert.same({1, 1}, {new(1), new(2)})
    assert.is_nil(new(3))
    assert.equal(1, unit:read("mapping_failures"))
    unit:wait(6)
    assert.equal(1, new(3))
    assert.same({2, 2}, {unit:read("size"), unit:read("capacity")})
    assert.is_nil(unit:write("capacity", "1"))
    assert.equal(1, unit:read("size"))
    unit:write("clear")
    assert.equal(0, unit:read("size"))
  end)

  it("says what its inputs do, and lets that be changed", function ()
    local unit = click.unit("IPRewriter(keep 0 1, pass, drop)",
      {inputs = 3, outputs = 2})
    send(unit, "1.0.0.1 7 2.0.0.2 80 T")
    assert.equal("<keep> [1]\n<nochange>\n<drop>\n", unit:read("patterns"))
    local handler = unit.element.own_handlers.pattern0
    assert.equal("input spec 0: unknown specification",
      handler.write(unit.element, "x"))
    assert.is_nil(handler.write(unit.element, "drop"))
    assert.equal("<drop>\n", handler.read(unit.element))
    assert.is_nil(send(unit, "1.0.0.1 7 2.0.0.2 80 T"))
  end)

  it("reports what is wrong with its arguments", function ()
    assert.same({"need 1 arguments, one per input port"},
      click.unit("IPRewriter(drop, drop)").errors)
    assert.same({"input spec 0: output port out of range"},
      click.unit("IPRewriter(pass 7)").errors)
    assert.same({"bad MAPPING_CAPACITY"},
      click.unit("IPRewriter(drop, MAPPING_CAPACITY x)").errors)
  end)
end)

describe("A rewriter with many flows", function ()
  -- UDP from so many ports at each of so many addresses.
  local function begin(unit, addresses, ports)
    local p = dumps.packet(FIELDS, "1.0.0.1 7 2.0.0.2 80 U")
    local header, l4 = p.buf_addr + p.note16[1], p.buf_addr + p.note16[2]
    local array = require("ffi").new("struct packet *[1]", p)
    for address = 1, addresses do
      for port = 1, ports do
        local before = {1, 0, 0, address, 2, 0, 0, 2}
        for i = 1, 8 do header[11 + i] = before[i] end
        l4[0], l4[1] = math.floor(port / 256), port % 256
        local text = require("ffi").string(p.data, p.length)
        unit.element:ahead(array, 1)
        assert(text == require("ffi").string(p.data, p.length))
        assert.equal(p, (unit.element:process(p, 1)))
      end
    end
    packet.free(p)
  end

  it("looks ahead while there are many, which changes no packet", function ()
    local unit = click.unit("IPRewriter(pattern - - 9.0.0.9 - 0 0, "
      .. "GUARANTEE 1, TIMEOUT 60, MAPPING_CAPACITY 100000)")
    local rewriter = unit.element
    assert.is_false(rewriter:outgrows_cache())
    begin(unit, 8, 2047)
    assert.is_false(rewriter:outgrows_cache())
    begin(unit, 9, 2047)
    assert.equal(9 * 2047, unit:read("table_size"))
    assert.is_true(rewriter:outgrows_cache())
    unit:write("capacity", "10000")
    unit:wait(2)
    send(unit, "1.0.0.99 7 2.0.0.2 80 U")
    assert.is_true(rewriter:outgrows_cache()) -- not each time it is about there
    unit:write("clear")
    assert.is_false(rewriter:outgrows_cache())
  end)
end)

describe("UDPRewriter", function ()
  it("keeps streams longer than questions with an answer", function ()
    local unit = click.unit("UDPRewriter(pattern 9.0.0.9 1024-65535# - - 0 0, "
      .. "GUARANTEE 1, TIMEOUT 4, STREAMING_TIMEOUT 60, REAP_INTERVAL 10)")
    local function alive(i)
      local before = unit:read("table_size")
      send(unit, ("2.0.0.2 80 9.0.0.9 %d U"):format(1023 + i))
      return unit:read("table_size") == before
    end
    for i = 1, 2 do send(unit, ("1.0.0.%d 7 2.0.0.2 80 U"):format(i)) end
    alive(1)
    for _ = 1, 3 do alive(2) end
    unit:wait(11)
    assert.same({1, true, false}, {unit:read("table_size"), alive(2), alive(1)})
  end)
end)

describe("IPAddrRewriter", function ()
  it("rewrites the sources of packets of any protocol", function ()
    local unit = click.unit("IPAddrRewriter(pattern 9.0.0.1-9.0.0.9# - 0 1)",
      {outputs = 2})
    expect(1, "9.0.0.1 7 2.0.0.2 80 T", unit, "1.0.0.1 7 2.0.0.2 80 T")
    expect(1, "9.0.0.1 8 2.0.0.3 80 U", unit, "1.0.0.1 8 2.0.0.3 80 U")
    expect(2, "2.0.0.7 5 1.0.0.1 6 T", unit, "2.0.0.7 5 9.0.0.1 6 T")
    expect(1, "9.0.0.2 7 2.0.0.2 80 T", unit, "1.0.0.2 7 2.0.0.2 80 T")
    local p = unit:pass(dumps.packet("src dst ip_fragoff", "1.0.0.2 2.0.0.2 80"))
    assert.equal("9.0.0.2 2.0.0.2", line_of(p, "src dst"))
    assert.matches("1.0.0.1 => 9.0.0.1 %[%*0 1%]", unit:read("table"))
  end)
end)

describe("ICMPPingRewriter", function ()
  it("gives pings identifiers, and replies theirs back", function ()
    local unit = click.unit("ICMPPingRewriter(pattern 9.0.0.9 - 100-102# 0 1, drop)",
      {inputs = 2, outputs = 2})
    local ping = "src dst icmp_type_name icmp_flowid proto"
    local function pass(line, i)
      local p, output = unit:pass(dumps.packet(ping, line), i)
      if not p then return nil end
      local right = sums_are_right(p)
      return output, line_of(p, "src dst icmp_type_name icmp_flowid"), right
    end
    assert.same({1, "9.0.0.9 2.0.0.2 echo 100", true},
      {pass("1.0.0.1 2.0.0.2 echo 7 I")})
    assert.same({1, "9.0.0.9 2.0.0.2 echo 101", true},
      {pass("1.0.0.2 2.0.0.2 echo 7 I")})
    assert.same({2, "2.0.0.2 1.0.0.2 echo-reply 7", true},
      {pass("2.0.0.2 9.0.0.9 echo-reply 101 I", 2)})
    assert.is_nil(pass("2.0.0.2 9.0.0.9 echo-reply 102 I", 2))
    -- A reply makes no mapping, on any input.
    assert.is_nil(pass("1.0.0.1 2.0.0.2 echo-reply 9 I"))
    assert.equal(1, (pass("1.0.0.3 2.0.0.2 echo 7 I")))
    assert.is_nil(pass("1.0.0.4 2.0.0.2 echo 7 I"))
  end)
end)
