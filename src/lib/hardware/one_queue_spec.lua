-- SPDX-License-Identifier: Apache-2.0
-- Which cards have one queue, and what becomes of ports on them.

local Port = require("apps.port.port").Port
local one_queue = require("lib.hardware.one_queue")
local pci = require("port.pci.kind")
local port_checks = require("testing.port_checks")
local sysfs = require("lib.hardware.sysfs")

describe("cards of net_e1000_em", function ()
  it("have one queue, and others of Intel's more", function ()
    assert.is_true(one_queue.is("0x8086", "0x100e"))
    assert.is_true(one_queue.is("0x8086", "0x10d3"))
    assert.is_false(one_queue.is("0x8086", "0x10fb"))
    assert.is_false(one_queue.is("0x15ad", "0x10d3"))
  end)

  describe("as ports", function ()
    local tree, real
    before_each(function ()
      tree, real = port_checks.new().tree, sysfs.roots
      tree.device("0000:01:00.0", {vendor = "0x8086", device = "0x10d3"})
      tree.device("0000:02:00.0", {vendor = "0x15ad", device = "0x07b0"})
      sysfs.roots = tree.roots
    end)
    after_each(function ()
      sysfs.roots = real
      tree.remove()
    end)

    it("aren't split over CPUs: their packets are distributed", function ()
      assert.is_nil(Port.split("0000:01:00.0", 2, 1))
      assert.same({port = "0000:02:00.0", queues = 2, queue = 1},
        Port.split("0000:02:00.0", 2, 1))
    end)

    it("may be gone already", function ()
      assert.is_true(pci.has_queues({address = "0000:03:00.0"}, tree.roots))
    end)
  end)
end)
