-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local values = require("core.lib.values")

describe("equal", function()
  local equal = values.equal

  it("compares tables key by key, both ways", function()
    assert.is_true(equal({a = {1, 2}, b = "x"}, {b = "x", a = {1, 2}}))
    assert.is_false(equal({a = 1}, {a = 1, b = 2}))
    assert.is_false(equal({a = 1, b = 2}, {a = 1}))
    assert.is_false(equal({1}, {"1"}))
    assert.is_false(equal({a = false}, {}))
  end)

  it("compares tables with a metatable by identity", function()
    local class = setmetatable({}, {})
    assert.is_true(equal(class, class))
    assert.is_false(equal(setmetatable({}, {}), setmetatable({}, {})))
  end)

  it("follows cycles once", function()
    local function ring(last)
      local first = {next = {next = {last = last}}}
      first.next.next.next = first
      return first
    end
    assert.is_true(equal(ring(1), ring(1)))
    assert.is_false(equal(ring(1), ring(2)))
    local x, y = {}, {}
    x.other, y.other = y, x
    assert.is_true(equal(x, y))
    x.n, y.n = 1, 2
    assert.is_false(equal(x, y))
  end)

  it("compares C arrays by their bytes and pointers by address", function()
    local four = ffi.typeof("uint8_t[4]")
    local a, b = four({1, 2, 3, 4}), four({1, 2, 3, 4})
    assert.is_true(equal(a, b))
    b[3] = 5
    assert.is_false(equal(a, b))
    b[3] = 4
    assert.is_false(equal(ffi.cast("uint8_t *", a), ffi.cast("uint8_t *", b)))
    assert.is_true(equal(ffi.cast("uint8_t *", a), ffi.cast("uint8_t *", a)))
    assert.is_false(equal(1LL, 2LL))
    assert.is_true(equal(7ULL, 7ULL))
    assert.is_false(equal(ffi.new("uint8_t[?]", 3), ffi.new("uint8_t[?]", 4)))
  end)
end)

describe("deepcopy", function()
  it("shares no table with the original", function()
    local original = {list = {1, {2}}, name = "x"}
    local copy = values.deepcopy(original)
    assert.same(original, copy)
    copy.list[2][1] = 3
    assert.equal(2, original.list[2][1])
  end)

  it("keeps cycles, metatables and false", function()
    local class = {}
    class.__index = class
    local original = setmetatable({flag = false}, class)
    original.self = original
    local copy = values.deepcopy(original)
    assert.equal(copy, copy.self)
    assert.equal(class, getmetatable(copy))
    assert.is_false(copy.flag)
    assert.is_nil(values.deepcopy(nil))
  end)

  it("shares C data", function()
    local mac, number = ffi.new("uint8_t[6]", {1, 2, 3, 4, 5, 6}), 5ULL
    local original = {mac = mac, number = number, ctype = ffi.typeof("int[4]")}
    local copy = values.deepcopy(original)
    mac[5] = 9
    assert.equal(9, copy.mac[5])
    assert.equal(original.ctype, copy.ctype)
    assert.equal(5ULL, copy.number)
    assert.is_true(values.deepcopy{ffi.cast("char *", nil)}[1] == nil)
  end)
end)

describe("array_copy and set", function()
  it("copies the array part", function()
    local original = {1, 2, 3, name = "x"}
    assert.same({1, 2, 3}, values.array_copy(original))
  end)

  it("makes a set, skipping nils", function()
    assert.same({a = true, b = true}, values.set("a", nil, "b"))
  end)
end)

describe("parse", function()
  local parse = values.parse

  it("fills in defaults into a new table", function()
    local arg = {a = 1}
    local result = parse(arg, {a = {required = true}, b = {default = 42}, c = {}})
    assert.same({a = 1, b = 42}, result)
    assert.same({a = 1}, arg)
  end)

  it("takes nil for no parameters, and keeps false", function()
    assert.same({}, parse(nil, {}))
    assert.same({a = false}, parse({a = false}, {a = {required = true, default = 1}}))
  end)

  local function message(arg, spec)
    local ok, err = pcall(parse, arg, spec)
    assert.is_false(ok)
    return tostring(err)
  end

  it("names what is missing, unknown or of the wrong type", function()
    local spec = {a = {required = true}, b = {default = 1}}
    assert.equal("missing required parameter 'a'; it takes a (required), b",
      message({b = 2}, spec))
    assert.equal("unrecognized parameter 'c'; it takes a (required), b",
      message({a = 1, c = 2}, spec))
    -- As Snabb: what is missing first.
    assert.matches("^missing required parameter 'a'", message({c = 2}, spec))
    assert.matches("must be a table, not the string eth0", message("eth0", spec))
    assert.matches("unrecognized parameter 'x'; it takes none", message({x = 1}, {}))
  end)
end)

describe("comma_value", function()
  local comma_value = values.comma_value

  it("groups thousands", function()
    for text, n in pairs {
      ["0"] = 0, ["999"] = 999, ["1,000"] = 1000, ["1,234,567"] = 1234567,
      ["-123,456"] = -123456, ["1,000,000,000,000,000"] = 1e15,
      ["1,234.5"] = 1234.5, ["18,446,744,073,709,551,615"] = -1ULL,
      ["-5,000"] = -5000LL, ["12,345"] = "12345",
    } do
      assert.equal(text, comma_value(n))
    end
  end)

  it("lets what isn't a number through", function()
    assert.equal("NaN", comma_value(0 / 0))
    assert.equal("inf", comma_value(1 / 0))
  end)
end)

describe("yesno and align", function()
  it("say and round up", function()
    assert.equal("yes", values.yesno(1))
    assert.equal("no", values.yesno(nil))
    assert.equal(0, values.align(0, 64))
    assert.equal(64, values.align(1, 64))
    assert.equal(64, values.align(64, 64))
    assert.equal(30, values.align(21, 10))
  end)
end)
