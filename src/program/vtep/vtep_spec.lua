-- SPDX-License-Identifier: Apache-2.0
-- The command line of vtep. (Its runs: test/test_vtep.py.)

local arguments = require("program.vtep.arguments")
local cli = require("lib.cli")

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
    local name = os.tmpname()
    local file = assert(io.open(name, "w"))
    file:write([[return {address = "192.0.2.1/24", mtu = 9000, vnis = {[7] = 3},
      remotes = {"192.0.2.2"}}]])
    file:close()
    local o = options("--config", name, "--mtu", "1400", "--remote", "192.0.2.3")
    assert.same({"192.0.2.1/24", 1400, {[7] = 3}}, {o.address, o.mtu, o.vnis})
    assert.same({"192.0.2.2", {address = "192.0.2.3"}}, o.remotes)
    for code, complaint in pairs{["return 5"] = "doesn't return a table",
                                 ["return os.exit()"] = "attempt to index global 'os'",
                                 ["return {"] = "can't be read"} do
      file = assert(io.open(name, "w"))
      file:write(code)
      file:close()
      local ok, err = pcall(options, "--config", name)
      assert.is_false(ok)
      assert.matches(complaint, tostring(err), 1, true)
    end
    os.remove(name)
  end)

  it("refuses one VNI in two VLANs", function ()
    assert.has_error(function () options("--vni", "42", "--vlan", "5=42") end)
  end)
end)
