-- SPDX-License-Identifier: Apache-2.0
-- Whether a port's kernel interface is still there, on a fake /sys.

local check = require("lib.port.check")
local fake_tree = require("testing.fake_tree")
local spec = require("lib.port.spec")

describe("check.alive", function()
  local tree
  before_each(function() tree = fake_tree.new() end)
  after_each(function() tree.remove() end)

  it("is true until the interface goes, and false for another of its name", function()
    for _, text in ipairs {"packet:veth0", "xdp:veth0", "netmap:veth0", "tap:veth0"} do
      local port = spec.parse(text)
      tree.interface("veth0", {ifindex = "17"})
      local token = check.token(port, tree.roots)
      assert.equal(17, token)
      assert.is_true(check.alive(port, token, tree.roots))
      tree.remove_interface("veth0")
      assert.is_false(check.alive(port, token, tree.roots))
      tree.interface("veth0", {ifindex = "18"})
      assert.is_false(check.alive(port, token, tree.roots))
    end
  end)

  it("is true for ports without an interface", function()
    for _, text in ipairs {"null", "netmap:vale0:a", "netmap:a{1"} do
      local port = spec.parse(text)
      assert.is_true(check.alive(port, check.token(port, tree.roots), tree.roots))
    end
  end)
end)
