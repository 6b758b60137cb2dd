-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local iface = require("apps.port.iface")
local plug = require("apps.port.plug")
local spec = require("lib.port.spec")

describe("plug", function ()
  it("says so when an interface goes away while it is plugged", function ()
    local read, put_back, calls = iface.read, iface.put_back, 0
    iface.put_back = function () end
    iface.read = function ()
      calls = calls + 1
      if calls <= 2 then return ffi.new("struct iface", {mtu = 1500}) end
      return nil, "No such device"
    end
    local description = spec.parse("null")
    description.iface = "perigee-gone0"
    local ok, err = pcall(plug.open, description)
    iface.read, iface.put_back = read, put_back
    assert.is_false(ok)
    assert.equal("port 'null': the interface went away meanwhile: No such device",
      tostring(err))
    assert.same({}, plug.open_ports())
  end)
end)
