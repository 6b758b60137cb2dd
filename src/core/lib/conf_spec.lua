-- SPDX-License-Identifier: Apache-2.0

local conf = require("core.lib.conf")

describe("store_conf and load_conf", function()
  local path

  setup(function() path = os.tmpname() end)
  teardown(function() os.remove(path) end)

  local function stored(value)
    conf.store_conf(path, value)
    return conf.load_conf(path)
  end

  it("give back what was stored", function()
    for _, value in ipairs {
      {foo = "1", bar = 42, arr = {2, "foo", 4}},
      {1, 2, name = "mixed", [10] = "far", [-1] = "negative"},
      {["end"] = 1, ["two words"] = 2, [true] = 3, [0.5] = 4},
      {text = "quote \" backslash \\ newline \n nul \0 return \r end"},
      {third = 1 / 3, big = 2^60, tiny = 5e-324, inf = 1 / 0, ninf = -1 / 0},
      {}, {{}, {{}}}, "just text", 7, false,
    } do
      assert.same(value, stored(value))
    end
  end)

  it("keep what comes after a hole", function()
    local value = {1, nil, 3, nil, nil, 6}
    assert.same(value, stored(value))
  end)

  it("keep 64-bit integers", function()
    assert.equal(2^53 + 1ULL, stored({2^53 + 1ULL})[1])
  end)

  it("refuse what has no text", function()
    assert.has_error(function() conf.store_conf(path, {print}) end)
    local cycle = {}
    cycle.self = cycle
    assert.has_error(function() conf.store_conf(path, cycle) end)
  end)

  it("leave the file alone when they refuse", function()
    conf.store_conf(path, {1})
    pcall(conf.store_conf, path, {print})
    assert.same({1}, conf.load_conf(path))
  end)

  it("say that the disk is full", function()
    local ok, err = pcall(conf.store_conf, "/dev/full", {1})
    assert.is_false(ok)
    assert.matches("can't store /dev/full: .*No space left", tostring(err))
  end)

  it("say which file is missing or wrong", function()
    local ok, err = pcall(conf.load_conf, "/nonexistent.conf")
    assert.is_false(ok)
    assert.matches("/nonexistent.conf", tostring(err), 1, true)
  end)
end)

describe("load_string", function()
  it("evaluates an expression", function()
    assert.same({1, a = "b"}, conf.load_string("{1, a = 'b'}"))
  end)

  it("says what isn't one", function()
    local ok, err = pcall(conf.load_string, "{1,")
    assert.is_false(ok)
    assert.matches("'{1,' is not a Lua expression", tostring(err), 1, true)
  end)
end)

describe("print_object", function()
  it("writes Lua text to a stream", function()
    local out = {}
    local stream = {write = function(_, ...) out[#out + 1] = table.concat({...}) end}
    conf.print_object({1, a = "x"}, stream)
    assert.equal('{\n  1,\n  a = "x",\n}\n', table.concat(out))
  end)
end)
