-- SPDX-License-Identifier: Apache-2.0
local known_faults = require("command_line.known_faults")

describe("known faults", function ()
  local function of(dpdk, luajit)
    return table.concat(known_faults.lines("DPDK " .. dpdk, "LuaJIT " .. luajit), "\n")
  end

  it("of DPDK end with the release that mends them, in each series", function ()
    for version, has in pairs{["22.11.6"] = true, ["22.11.7"] = false,
      ["22.11.11"] = false, ["23.11.2"] = true, ["23.11.3"] = false, ["24.11.0"] = true,
      ["24.11.1"] = false, ["23.07.0"] = true, ["25.11.0"] = false,
      ["26.03.0-rc1"] = false} do
      local said = of(version, "2.1.1800000000")
      assert.equal(has, said:find("CVE-2024-11614", 1, true) ~= nil, version)
    end
  end)

  it("of LuaJIT on arm64 turn its compiler off until they are mended", function ()
    for version, has in pairs{["2.1.0-beta3"] = true, ["2.1.1720000000"] = false} do
      for _, arch in ipairs{"arm64", "x64"} do
        local lines = known_faults.lines("DPDK 24.11.2", "LuaJIT " .. version, arch)
        local said = table.concat(lines):find("interpreted", 1, true)
        assert.equal(has and arch == "arm64", said ~= nil)
      end
    end
  end)

  it("of LuaJIT end with a date, where it tells one", function ()
    assert.is_truthy(of("25.11.0", "2.1.0-beta3"):find(
      "CVE-2024-25178 (in those before 14 March 2024", 1, true))
    assert.is_truthy(of("25.11.0", "2.1.1700000000"):find("CVE-2024-25176", 1, true))
    assert.equal("known faults of this DPDK: none\nknown faults of this LuaJIT: none",
      of("25.11.0", "2.1.1720000000"))
  end)
end)
