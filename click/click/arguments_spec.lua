-- SPDX-License-Identifier: Apache-2.0
local arguments = require("click.arguments")
local errors = require("click.errors")
local names = require("click.names")

-- The values, or the messages.
local function parse(specs, text, element)
  local e = errors.new()
  element = element or {}
  element.error = function (_, ...) e:error(...) end
  return arguments.parse(specs, text, element) or e:text()
end

local function value(type, text, spec, element)
  spec = spec or {}
  spec[1], spec[2] = "X", type
  return (arguments.value(text, spec, element or {}))
end

describe("click.arguments", function ()
  local LENGTH = {"LENGTH", "unsigned", required = true}
  local TEXT = {"TEXT", "string", default = "none"}
  local ACTIVE = {"ACTIVE", "bool", default = true, keyword = true}
  local ALL = {LENGTH, TEXT, ACTIVE}

  it("takes arguments by position and by keyword", function ()
    assert.same({LENGTH = 4, TEXT = "none", ACTIVE = true}, parse(ALL, "4"))
    assert.same({LENGTH = 4, TEXT = "a b", ACTIVE = false},
      parse(ALL, '4, "a b", ACTIVE no'))
    assert.same({LENGTH = 4, TEXT = "b", ACTIVE = true}, parse(ALL, "TEXT b, LENGTH 4"))
    assert.same({LENGTH = 5, TEXT = "none", ACTIVE = true},
      parse(ALL, "LENGTH 4, LENGTH 5"))
    assert.same({TEXT = "x"}, parse({TEXT}, "x"))
  end)

  it("says what is wrong, all of it", function ()
    assert.equal("LENGTH: required argument missing\n", parse(ALL, ""))
    assert.equal("LENGTH: invalid number\nBAD: unknown argument\ntoo many arguments\n",
      parse(ALL, "x, y, z, w, BAD 4"))
    assert.equal("LENGTH: out of range, bound 4294967295\nACTIVE: parse error\n",
      parse(ALL, "4294967296, ACTIVE 7"))
    assert.equal("LENGTH: invalid number\n", parse(ALL, "-1"))
    assert.equal("N: out of range, bound 255\n",
      parse({{"N", "int", max = 255}}, "256"))
    assert.equal("N: out of range, bound -2147483648\n",
      parse({{"N", "int"}}, "-2147483649"))
  end)

  it("gives a required argument what looks like a keyword", function ()
    assert.same({A = "a b"}, parse({{"A", "argument", required = true}}, "a b"))
    assert.equal("a: unknown argument\n", parse({{"A", "argument"}}, "a b"))
  end)

  it("leaves the rest to who asks for it", function ()
    local reader = arguments.reader({"1", "x y", "z"}, {})
    assert.equal(1, reader:read{"N", "int"})
    assert.same({"x y", "z"}, reader:rest())
    assert.is_true(reader:complete())
  end)

  it("reads lists", function ()
    assert.same({1, 2, 3}, value("int", "1 2 3", {list = true}))
    assert.is_nil(value("int", "1 x", {list = true}))
  end)
end)

describe("Types of click.arguments", function ()
  it("are whole numbers", function ()
    for text, n in pairs{["0"] = 0, ["12"] = 12, ["0x1F"] = 31, ["017"] = 15,
      ["0b101"] = 5, ["1_000"] = 1000, ["-3"] = -3, ["+3"] = 3} do
      assert.equal(n, value("int", text), text)
    end
    for _, text in ipairs{"", "09", "1__0", "1_", "x", "1.5", "0x", "1e3", "--1"} do
      assert.is_nil(value("int", text), text)
    end
  end)

  it("are real numbers, times and bandwidths", function ()
    assert.equal(-1.5, value("real", "-1.5"))
    assert.equal(1e6, value("rate", "1e6"))
    for _, text in ipairs{"inf", "nan", "0x10", "", ".", "1e-400"} do
      assert.is_nil(value("real", text), text)
    end
    for text, n in pairs{["1"] = 1, ["0.5s"] = .5, ["10ms"] = .01, ["3 us"] = 3e-6,
      ["2min"] = 120, ["2m"] = 120, ["1h"] = 3600, ["1.5d"] = 129600,
      [".1 sec"] = .1} do
      assert.is_true(math.abs(n - value("seconds", text)) < 1e-12, text)
    end
    assert.is_nil(value("seconds", "-1"))
    assert.is_nil(value("interval", "1 mile"))
    for text, n in pairs{["8"] = 8, ["8bps"] = 1, ["10Mbps"] = 1250000,
      ["1kB/s"] = 1000, ["1 GBps"] = 1e9, ["80 kb/s"] = 10000, ["20bps"] = 3,
      ["3bps"] = 0.375, ["0bps"] = 0} do
      assert.equal(n, value("bandwidth", text), text)
    end
  end)

  it("are texts", function ()
    assert.equal("a b", value("string", '"a b"'))
    assert.is_nil(value("string", "a b"))
    assert.equal("\1\2", value("data", "\\<01 02>"))
    assert.equal("", value("string", '""'))
    assert.is_nil(value("string", ""))
    assert.equal("a  b", value("argument", "a  b"))
    assert.is_nil(value("word", '"a b"'))
    assert.equal(os.getenv("HOME") .. "/x/y", value("filename", '"~/x//y"'))
    for text, b in pairs{yes = true, n = false, ["1"] = true, ["false"] = false} do
      assert.equal(b, value("bool", text))
    end
    assert.is_nil(value("bool", "TRUE"))
  end)

  it("are addresses", function ()
    assert.equal(0x0A000001, value("ip", "10.0.0.1"))
    assert.equal(4294967295, value("ip", "255.255.255.255"))
    for _, text in ipairs{"10.0.1", "256.0.0.1", "1.2.3.4.5", "1..2.3", "x"} do
      assert.is_nil(value("ip", text), text)
    end
    assert.same({address = 0x12340000, mask = 0xFFFF0000, length = 16},
      value("ip_prefix", "18.52/16"))
    assert.same({address = 0x0A000001, mask = 0xFF00FF00},
      value("ip_prefix", "10.0.0.1/255.0.255.0"))
    assert.same({address = 0, mask = 0, length = 0}, value("ip_prefix", "0/0"))
    assert.is_nil(value("ip_prefix", "18/16"))
    assert.is_nil(value("ip_prefix", "18.26.4.9"))
    assert.equal(32, value("ip_prefix", "18.26.4.9", {bare = true}).length)
    assert.equal("\0\1\42\3\4\5", value("eth", "00:1:2a:3:4:5"))
    assert.equal("\0\1\42\3\4\5", value("eth", "00-01-2A-03-04-05"))
    assert.is_nil(value("eth", "00:1:2a:3:4"))
    assert.is_nil(value("eth", "00:1-2a:3:4:5"))
  end)

  it("are addresses of version 6", function ()
    local one = ("\0"):rep(15) .. "\1"
    assert.equal(one, value("ip6", "::1"))
    assert.equal(("\0"):rep(16), value("ip6", "::"))
    assert.equal("\32\1\13\184" .. ("\0"):rep(11) .. "\1", value("ip6", "2001:db8::1"))
    assert.equal(("\0"):rep(10) .. "\255\255\10\0\0\1", value("ip6", "::ffff:10.0.0.1"))
    assert.equal(("\0\1"):rep(8), value("ip6", "1:1:1:1:1:1:1:1"))
    for _, text in ipairs{"1:2", ":::", "1::2::3", "::12345", "1:1:1:1:1:1:1:1:1",
      ":1"} do
      assert.is_nil(value("ip6", text), text)
    end
    assert.same({address = one, length = 64}, value("ip6_prefix", "::1/64"))
    assert.is_nil(value("ip6_prefix", "::1/129"))
  end)

  it("are ports, by number and name", function ()
    assert.equal(80, value("ip_port", "80"))
    assert.equal(80, value("ip_port", "http"))
    assert.equal(53, value("ip_port", "domain", {protocol = "udp"}))
    assert.same({nil, "overflow, range 0-65535"},
      {arguments.value("65536", {"P", "ip_port"}, {})})
  end)

  it("are annotations", function ()
    assert.same({ANNO = 17, ANNO_LENGTH = 1}, parse({{"ANNO", "anno"}}, "PAINT"))
    assert.same({ANNO = 20}, parse({{"ANNO", "anno"}}, "20"))
    assert.same({ANNO = 44, ANNO_LENGTH = 4}, parse({{"ANNO", "anno", size = 4}}, "44"))
    assert.is_nil(value("anno", "45", {size = 4}))
    assert.is_nil(value("anno", "PAINT", {size = 4}))
    assert.is_nil(value("anno", "48"))
  end)

  it("are elements", function ()
    local queue = {class = {name = "Queue", extends = {name = "FIFO"}}}
    local element = {router = {find = function (_, name, near)
      return name == "q" and near and queue or nil
    end}}
    assert.equal(queue, value("element", "q", {}, element))
    assert.equal(queue, value("element", "q", {class = "FIFO"}, element))
    assert.equal("E: does not name an element\n",
      parse({{"E", "element"}}, "x", element))
    assert.equal("E: element type mismatch, expected Tee\n",
      parse({{"E", "element", class = "Tee"}}, "q", element))
  end)

  it("are what the configuration has named", function ()
    local router = {names = names.new()}
    router.names:define("ip", "info", "gw", 7)
    router.names:define("ip", "in/info", "gw", 8)
    router.names:define("eth", "in/info", "gw", "123456")
    router.names:define("ip_prefix", nil, "net",
      {address = 0x0A000005, mask = 0xFF000000})
    local outer = {name = "x", router = router}
    local inner = {name = "in/deep/x", router = router}
    assert.equal(7, value("ip", "gw", {}, outer))
    assert.equal(8, value("ip", "gw:ip", {}, inner))
    assert.equal("123456", value("eth", "gw:eth", {}, inner))
    assert.is_nil(value("eth", "gw", {}, outer))
    assert.equal(0x0A000005, value("ip_prefix", "net:net", {}, inner).address)
    assert.equal(0x0AFFFFFF, value("ip", "net:bcast", {}, inner))
    assert.equal(0x0A000001, value("ip", "net:gw", {}, inner))
  end)
end)
