-- SPDX-License-Identifier: Apache-2.0
-- A VlanSwitch whose addresses are kept (net.keep), and that gets other ports.

local VlanSwitch = require("apps.vlan_switch.vlan_switch").VlanSwitch
local apps = require("net.keep.apps")
local dirent = require("posix.dirent")
local instance = require("core.engine.instance")
local kept = require("testing.kept")

local function with_vlan(vlan)
  local c = config.new()
  config.app(c, "switch", VlanSwitch,
    {trunk = "trunk", ports = {{name = "a", vlan = vlan}, {name = "b", vlan = 5}}})
  return c
end

describe("A VlanSwitch with --keep", function ()
  before_each(kept.set_up)
  after_each(function ()
    engine.configure(config.new())
    instance.keep_by(nil)
    kept.tear_down()
  end)

  it("takes no more descriptors when it gets other ports", function ()
    apps.use("switches")
    engine.configure(with_vlan(7))
    local before = #dirent.dir("/proc/self/fd")
    collectgarbage("stop")
    finally(function () collectgarbage("restart") end)
    for i = 1, 20 do engine.configure(with_vlan(100 + i)) end
    assert.equal(before, #dirent.dir("/proc/self/fd"))
  end)

  it("has its addresses after ports that are refused", function ()
    apps.use("switches")
    engine.configure(with_vlan(7))
    local switch = engine.app_table.switch
    assert.error(function () switch:reconfig{ports = 5} end)
    switch:kept_state()[1].done()
    assert.is_number(switch.addresses.flows:count())
  end)
end)
