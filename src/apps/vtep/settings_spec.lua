-- SPDX-License-Identifier: Apache-2.0

local failure = require("core.failure")
local addresses = require("net.address.address")
local settings = require("apps.vtep.settings")

-- The sentence that a setting gets, or nil if it is right.
local function complaint(changes)
  local arg = {address = "192.0.2.1/24", mac = "02:00:00:00:00:01", vnis = {[42] = 0},
               remotes = {"192.0.2.2"}}
  for key, value in pairs(changes) do arg[key] = value end
  local ok, err = pcall(settings.check, arg)
  if ok then return nil end
  assert(failure.is(err), tostring(err))
  assert.equal(2, err.status)
  return tostring(err)
end

describe("apps.vtep.settings", function ()
  it("takes what can work", function ()
    for _, changes in ipairs{
      {}, {remotes = {}}, {mtu = 9000}, {gateway = "192.0.2.254"}, {dscp = "copy"},
      {remotes = {"198.51.100.1"}, gateway = "192.0.2.254"},
      {remotes = {{address = "198.51.100.1", mac = "02:00:00:00:00:02"}}},
      {vnis = {[0] = 0, [16777215] = 4094}}, {address = "2001:db8::1/127",
                                              remotes = {"2001:db8::"}},
      {keep_tags = true},
    } do
      assert.is_nil(complaint(changes))
    end
  end)

  it("refuses the rest with a sentence that says what is wrong", function ()
    for part, changes in pairs{
      ["'192.0.2.1'; write it with the length"] = {address = "192.0.2.1"},
      ["'192.0.2.300' isn't the IP address"] = {address = "192.0.2.300/24"},
      ["'224.0.0.1' isn't the IP address of a host"] = {address = "224.0.0.1/24"},
      ["from 1 to 32, not '33'"] = {address = "192.0.2.1/33"},
      ["is IPv6, but the tunnel's own address is IPv4"] = {remotes = {"2001:db8::1"}},
      ["remote 192.0.2.1 is the tunnel's own address"] = {remotes = {"192.0.2.1"}},
      ["remote 192.0.3.1 isn't in the network"] = {remotes = {"192.0.3.1"}},
      ["gateway 192.0.3.1 isn't in the network"] = {gateway = "192.0.3.1"},
      ["'01:00:00:00:00:01' isn't the Ethernet address"] = {mac = "01:00:00:00:00:01"},
      ["'2:0:0:0:0' isn't the Ethernet address"] = {mac = "2:0:0:0:0"},
      ["needs a VNI"] = {vnis = {}},
      ["0 to 16777215, not '16777216'"] = {vnis = {[16777216] = 0}},
      ["both have VLAN 5"] = {vnis = {[1] = 5, [2] = 5}},
      ["both have the untagged frames"] = {vnis = {[1] = 0, [2] = 0}},
      ["(0: untagged) is a whole number from 0 to 4094"] = {vnis = {[1] = 4095}},
      ["mtu is a whole number from 576"] = {mtu = 100},
      ["MTU of 1000 is less than IPv6 allows"] = {mtu = 1000, remotes = {},
                                                  address = "2001:db8::1/64"},
      ["dscp (or \"copy\") is a whole number from 0 to 63"] = {dscp = 64},
      ["keep_tags carries all frames"] = {keep_tags = true, vnis = {[42] = 10}},
      ["names VNI 43, which the tunnel doesn't have"] =
        {remotes = {{address = "192.0.2.2", vnis = {43}}}},
      ["a static entry names VNI 7"] =
        {static = {{vni = 7, mac = "02:00:00:00:00:02", remote = "192.0.2.2"}}},
      ["there are 3 remotes, and room for 2"] =
        {max_remotes = 2, remotes = {"192.0.2.2", "192.0.2.3", "192.0.2.4"}},
    } do
      assert.matches(part, complaint(changes) or "nothing", 1, true)
    end
  end)

  it("tells whether two addresses are of one network", function ()
    local function same(one, other, prefix)
      return settings.same_network(addresses.ip(one), addresses.ip(other), prefix)
    end
    assert.is_true(same("192.0.2.1", "192.0.2.254", 24))
    assert.is_false(same("192.0.2.1", "192.0.3.1", 24))
    assert.is_true(same("192.0.2.1", "192.0.3.1", 23))
    assert.is_false(same("192.0.2.127", "192.0.2.128", 25))
    assert.is_true(same("2001:db8::1", "2001:db8::3", 126 - 1))
    assert.is_false(same("2001:db8::3", "2001:db8::4", 126))
  end)
end)
