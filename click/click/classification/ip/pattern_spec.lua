-- SPDX-License-Identifier: Apache-2.0
local filter = require("click.classification.ip.filter")
local names = require("click.names")
local pattern = require("click.classification.ip.pattern")
local packed = require("click.classification.packed")
local packet = require("core.packet")
local patterns = require("testing.click_patterns")
local run = require("click.classification.run")
local testing = require("testing.support")

-- What the element is told of a rule: errors, and warnings with a mark.
local function complaints(rule, noutputs)
  local list = {}
  filter.program({rule}, noutputs or 2, {
    error = function (_, fmt, ...) list[#list + 1] = fmt:format(...) end,
    warning = function (_, fmt, ...)
      list[#list + 1] = "warning: " .. fmt:format(...)
    end,
  })
  return list
end

local function program_of(rule, element)
  return filter.program({"0 " .. rule}, 1, element or {
    error = function (_, fmt, ...) error(rule .. ": " .. fmt:format(...)) end,
    warning = function () end,
  })
end

local function text_of(rule, element) return packed.text(program_of(rule, element)) end

-- The packets that the rule matches, of a number of random ones, as a text of digits.
local function matches(rule)
  local program, questions = program_of(rule)
  local process, kept = run.process(program, questions, true)
  local random, digits = patterns.new(7), {}
  for i = 1, 200 do
    local p = random:ip_packet(true)
    digits[i] = process(nil, p) and "1" or "0"
    packet.free(p)
  end
  return table.concat(digits), kept
end

describe("an IP pattern", function ()
  it("is split into words", function ()
    assert.same({"src", "tcp", "port", ">=", "80", "||", "!", "(", "ip", "[", "0:4",
      "]", "&", "0xff", "==", "1", ")"},
      pattern.words("src tcp port>=80||!(ip[0:4]&0xff==1)"))
  end)

  it("says the same in other words #slow", function ()
    local function same(a, b)
      assert.equal((matches(a)), (matches(b)), a .. " / " .. b)
    end
    same("tcp port 1", "port 1 and ip proto 6")
    same("port www", "port 80")
    same("src port 80 or 81", "src port 80 || src port 81")
    same("host 10.0.0.1", "src or dst host 10.0.0.1")
    same("10.0.0.0/8", "net 10.0.0.0 mask 255.0.0.0")
    same("ip unfrag", "not ip frag")
    same("syn", "tcp opt syn")
    same("src port > 256", "src port >= 257")
    same("src port != 1", "tcpudp and ip[6:2] & 0x1fff == 0 and not src port 1")
    same("ip ect", "ip[1] & 3 != 0")
    same("tcp && !udp", "tcp and not udp")
    same("true ? tcp : udp", "tcp")
    same("icmp type echo", "icmp[0] 8")
    same("src port domain", "src port dns")
    same("ip proto 17", "udp")
    same("dst port 53 tcp", "dst port 53 and tcp")
  end)

  it("takes names that are defined where the element is", function ()
    local router = {names = names.new()}
    router.names:define("ip", "", "GATEWAY", 0x0a000001)
    router.names:define("ip_prefix", "", "LAN",
      {address = 0x0a000000, mask = 0xff000000})
    local element = {name = "c", router = router}
    assert.equal(text_of("src host 10.0.0.1"), text_of("src host GATEWAY", element))
    assert.equal(text_of("dst net 10.0.0.0/8"), text_of("dst net LAN", element))
  end)

  it("is refused in Click's words", function ()
    for rule, wanted in pairs{
      ["allow tcp port 70000"] = "'port': out of range, bound 65535",
      ["allow src"] = "partial directive",
      ["allow tcp udp"] = "transport protocol specified twice",
      ["allow ip ttl 3 and"] = "missing expression",
      ["allow (tcp"] = "missing ')'",
      ["allow not"] = "missing expression after 'not'",
      ["allow tcp)"] = "garbage after expression at ')'",
      ["allow nonsense"] = "empty term near 'nonsense'",
      ["allow host"] = "'ip host': address missing",
      ["allow ip[1:5] 3"] =
        "LEN in '[POS:LEN]' out of range, should be between 1 and 4",
      ["allow ip[3:2] 3"] = "field [3:2] does not fit in a single word",
      ["allow 80"] = "specify header field or 'port'",
      ["allow icmp port 80"] = "'port': bad protocol 1",
      ["allow tcp ? udp"] = "missing ':' in ternary expression",
      ["permit tcp"] = "unknown slot ID 'permit'",
      ["7 tcp"] = "slot '7' out of range",
    } do
      assert.same("pattern 0: " .. wanted, complaints(rule)[1], rule)
    end
    assert.same({"pattern 0: 'allow' is meaningless, element has zero outputs"},
      complaints("allow tcp", 0))
    assert.same({"empty pattern 0"}, complaints(""))
    assert.matches("^pattern 0: 'echo' is ambiguous; try '.*port.* echo', .*icmp type",
      complaints("allow echo")[1])
  end)

  it("warns of what is always true or false", function ()
    assert.same({"warning: pattern 0: relation '< 0' is always false (range 0-255)"},
      complaints("allow ip ttl < 0"))
    assert.same({"warning: pattern 0: relation '<= 255' is always true (range 0-255)"},
      complaints("allow ip ttl <= 255"))
    assert.same({"warning: pattern 0: 'src ip ttl': 'src' or 'dst' ignored"},
      complaints("allow src ip ttl 7"))
  end)

  it("reads rules of a file", function ()
    local name = testing.temporary("allow tcp\n\n  deny udp\n")
    local program = filter.program({"file " .. name}, 1, {})
    local same = filter.program({"allow tcp", "deny udp"}, 1, {})
    assert.equal(same:text(), program:text())
    os.remove(name)
    for _, missing in ipairs{name, "/tmp"} do
      assert.same({("pattern 0: Could not open file %s"):format(missing)},
        complaints("file " .. missing))
    end
  end)
end)
