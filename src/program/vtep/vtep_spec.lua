-- SPDX-License-Identifier: Apache-2.0
-- The command line of vtep. (Its runs: test/test_vtep*.py.)

local arguments = require("program.vtep.arguments")
local cli = require("lib.cli")
local files = require("core.lib.files")
local failure = require("core.failure")
local testing = require("testing.support")

local function options(...)
  return arguments.options(cli.parse(arguments.parser(), {...}))
end

describe("program.vtep", function ()
  it("understands remotes, VLANs and static entries", function ()
    assert.same({address = "192.0.2.2"}, arguments.remote("192.0.2.2"))
    assert.same({address = "2001:db8::2", mac = "02:00:00:00:00:02", vnis = {42, 7}},
                arguments.remote("2001:db8::2@02:00:00:00:00:02,42,7"))
    assert.same({vlan = 10, vni = 42}, arguments.vlan("10=42"))
    assert.same({vni = 42, mac = "02:00:00:00:00:05", remote = {address = "192.0.2.2"}},
                arguments.static("42,02:00:00:00:00:05,192.0.2.2"))
    for name, texts in pairs{vlan = {"10", "a=b", "10=42x"}, static = {"42,x", "x"},
                             remote = {"192.0.2.2,x", "192.0.2.2,", ""}} do
      for _, text in ipairs(texts) do
        local value, problem = arguments[name](text)
        assert.is_nil(value)
        assert.equal("string", type(problem))
      end
    end
  end)

  it("makes the app's argument of them", function ()
    local o = options("--inner", "null", "--outer", "null", "--address",
      "192.0.2.1/24", "--vni", "42", "--vlan", "10=43", "--remote", "192.0.2.2",
      "--remote", "192.0.2.3", "--dscp", "copy", "--udp-checksum", "on", "--no-learn",
      "--strict", "--ageing", "2m")
    assert.same({
      inner = "null", outer = "null", address = "192.0.2.1/24",
      vnis = {[42] = 0, [43] = 10}, static = {}, dscp = "copy", udp_checksum = true,
      remotes = {{address = "192.0.2.2"}, {address = "192.0.2.3"}}, learn = false,
      strict = true, ageing = 120,
    }, o)
  end)

  it("reads a file, and lets the command line go before it", function ()
    local name = testing.temporary([[
      return {address = "192.0.2.1/24", mtu = 9000, vnis = {[7] = 3},
      remotes = {"192.0.2.2"}}]])
    local o = options("--config", name, "--mtu", "1400", "--remote", "192.0.2.3")
    assert.same({"192.0.2.1/24", 1400, {[7] = 3}}, {o.address, o.mtu, o.vnis})
    assert.same({"192.0.2.2", {address = "192.0.2.3"}}, o.remotes)
    for code, complaint in pairs{["return 5"] = "doesn't return a table",
                                 ["return os.exit()"] = "attempt to index global 'os'",
                                 ["return {"] = "can't be read"} do
      files.writefile(name, code)
      local ok, err = pcall(options, "--config", name)
      assert.is_false(ok)
      assert.matches(complaint, tostring(err), 1, true)
    end
    os.remove(name)
  end)

  -- What is said of a file with this text (bytes), on one line with the file's name;
  -- nil if nothing is.
  local function complaint(text)
    local name = testing.temporary(text)
    local parsed = cli.parse(arguments.parser(), {"--config", name})
    local ok, err = pcall(function ()
      arguments.check(arguments.options(parsed), parsed)
    end)
    os.remove(name)
    if ok then return nil end
    assert(failure.is(err), text .. ": " .. tostring(err))
    assert.equal(2, err.status)
    local sentence = tostring(err)
    assert.matches(name, sentence, 1, true)
    assert(#sentence < 400 and not sentence:find("[%c\127-\255]"), sentence)
    return (sentence:gsub(name:gsub("%p", "%%%0"), "FILE"))
  end

  local GOOD = {
    inner = '"null"', outer = '"null"', address = '"192.0.2.1/24"', mtu = "9000",
    mac = '"02:00:00:00:00:01"', gateway = '"192.0.2.254"', ttl = "9", dscp = "3",
    vnis = "{[42] = 0, [43] = 10}", port = "4789", udp_checksum = "true",
    remotes = [[{"192.0.2.2", {address = "198.51.100.7", vnis = {43},
      mac = "02:00:00:00:00:07"}}]],
    static = '{{vni = 42, mac = "02:00:00:00:00:05", remote = "192.0.2.2"}}',
    learn = "true", strict = "false", ageing = "300", capacity = "100",
    flood_control = "true",
    max_remotes = "100", keep_tags = "false", ping = "true", report = "1",
    duration = "1",
  }
  local PLACES = { -- within the values of GOOD
    vnis = {"{[42] = VALUE}", "{[VALUE] = 0}", "{VALUE}", "{[43] = 0, VALUE = 1}"},
    remotes = {"{VALUE}", "{{address = VALUE}}", "{{address = '192.0.2.2', VALUE}}",
               "{{address = '192.0.2.2', mac = VALUE}}", "{address = VALUE}",
               "{{address = '192.0.2.2', vnis = VALUE}}", "{nil, VALUE}",
               "{{address = '192.0.2.2', vnis = {VALUE}}}"},
    static = {"{VALUE}", "{{vni = VALUE, mac = '02:00:00:00:00:05'}}", "{{VALUE}}",
              "{{vni = 42, mac = VALUE, remote = '192.0.2.2'}}",
              "{{vni = 42, mac = '02:00:00:00:00:05', remote = VALUE}}",
              "{{vni = 42, mac = '02:00:00:00:00:05', remote = {address = VALUE}}}"},
  }
  local ODD = {"{}", "{{}}", "{{{}}}", "'no'", "''", "('x'):rep(1e6)", "'\\0\\n\\255'",
    "true", "false", "-1", "0", "0.5", "1e300", "1/0", "0/0", "-1/0", "2^53",
    "function () end", "{[{}] = {}}", "{[function () end] = 1}", "{[1.5] = 1}",
    "{x = 1}", "cycle", "1LL", "2i", "{['\\n'] = 1}"}
  local TAKEN = { -- odd values that are right there
    remotes = {["{}"] = true}, static = {["{}"] = true}, duration = {},
  }
  for _, name in ipairs{"learn", "strict", "udp_checksum", "ping", "flood_control"} do
    TAKEN[name] = {["true"] = true, ["false"] = true}
  end
  TAKEN.keep_tags = {["false"] = true}
  for _, value in ipairs{"0", "0.5", "1e300", "2^53"} do
    TAKEN.duration[value] = true
  end
  TAKEN.report = {["0.5"] = true, ["1e300"] = true, ["2^53"] = true}
  TAKEN.dscp = {["0"] = true}
  -- Whether there is such a port is known when it is opened.
  TAKEN.inner = setmetatable({}, {__index = function (_, odd)
    return odd:find("^'") or odd:find("^[%d./^e-]+$")
  end})
  TAKEN.outer = TAKEN.inner

  local function file_with(name, value)
    local parts = {"local cycle = {} cycle[1] = cycle cycle.address = cycle return {"}
    for key, good in pairs(GOOD) do
      parts[#parts + 1] = ("%s = %s,"):format(key, key == name and value or good)
    end
    return table.concat(parts, " ") .. "}"
  end

  it("takes a file with every setting", function ()
    assert.is_nil(complaint(file_with()))
  end)

  it("has a sentence for odd values at every place of a file #slow", function ()
    for name in pairs(GOOD) do
      for _, odd in ipairs(ODD) do
        local said = complaint(file_with(name, odd))
        local taken = TAKEN[name] and TAKEN[name][odd]
        assert(said or taken, ("%s = %s is taken"):format(name, odd))
        assert(not (said and taken), ("%s = %s: %s"):format(name, odd, said))
        for _, place in ipairs(PLACES[name] or {}) do
          complaint(file_with(name, (place:gsub("VALUE", function () return odd end))))
        end
      end
    end
  end)

  it("says which name was meant, and which kinds of values there are", function ()
    for text, part in pairs{
      ["return {vni = 42}"] = "FILE:1: the configuration has no field 'vni'; is 'vnis'",
      ["return {lern = true}"] = "no field 'lern'; is 'learn' meant?",
      ["return {x = 1}"] = "no field 'x'; it has address, ageing, capacity, dscp",
      ["return {[1] = 42}"] = "the configuration has a value without a name",
      ["return {learn = 'no'}"] = "FILE: learn is true or false, not 'no'",
      ["return {remotes = {{adress = '192.0.2.2'}}}"] =
        "remotes[1] has no field 'adress'; is 'address' meant?",
      ["return {remotes = {{mac = 'x'}}}"] = "remotes[1] has no address",
      ["return {remotes = {address = '192.0.2.2'}}"] = "it has a field 'address'",
      ["return {static = {{vni = 42}}}"] = "static[1] has no mac; write {vni = 42",
      ["return {mtu = '1500'}"] = "mtu is a number, not '1500'",
      ["return {address = ('9'):rep(500)}"] = "name the inner port",
      [file_with("address", "('9'):rep(500)")] = "'" .. ("9"):rep(40) .. "...'",
      [file_with("vnis", "{[42] = 5, [43] = 5}")] = "FILE: VNIs 42 and 43 both",
      [file_with("capacity", "0")] = "FILE: capacity is a whole number from 1",
    } do
      assert.matches(part, complaint(text) or "nothing", 1, true)
    end
  end)

  it("runs only text, which comes to an end and calls nothing #slow", function ()
    for text, part in pairs{
      [string.dump(function () return {} end)] = "FILE is bytecode",
      ["#!/bin/x\n" .. string.dump(function () return {} end)] = "FILE is bytecode",
      ["while true do end"] = "configuration FILE: it doesn't come to an end",
      ["local function f() return f() end return f()"] = "doesn't come to an end",
      ["local function f() return 1 + f() end return f()"] = "stack overflow",
      ["return {\n\n mtu = }"] = "can't be read: FILE:3: unexpected symbol near '}'",
      ["return {\nmtu = os.time()}"] = "FILE:2: attempt to index global 'os'",
      ["return {} + 1"] = "FILE:1: attempt to perform arithmetic",
      ["return function () end"] = "FILE doesn't return a table",
      [""] = "FILE doesn't return a table",
      ["return '" .. ("x"):rep(2^24) .. "'"] = "FILE has more than 16 MB",
    } do
      assert.matches(part, complaint(text) or "nothing", 1, true)
    end
    for path, part in pairs{["/no/such"] = "No such file", ["/tmp"] = "/tmp: Is a dir",
                            ["/dev/zero"] = "/dev/zero has more than 16 MB"} do
      local ok, err = pcall(options, "--config", path)
      assert.is_false(ok)
      assert.matches(part, tostring(err), 1, true)
    end
  end)

  it("tells when a mistake may be the command line's", function ()
    local name = testing.temporary(file_with())
    local parsed = cli.parse(arguments.parser(), {"--config", name, "--mtu", "5"})
    local ok, err = pcall(arguments.check, arguments.options(parsed), parsed)
    os.remove(name)
    assert.is_false(ok)
    assert.equal(name .. " with the command line: mtu is a whole number from 576 to "
      .. "10226, not '5'", tostring(err))
  end)

  it("refuses one VNI in two VLANs", function ()
    assert.has_error(function () options("--vni", "42", "--vlan", "5=42") end)
  end)
end)
