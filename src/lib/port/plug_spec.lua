-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local iface = require("lib.port.iface")
local kinds = require("lib.port.kinds")
local opened = require("lib.port.opened")
local plug = require("lib.port.plug")
local spec = require("lib.port.spec")

describe("plug", function ()
  it("says so when an interface goes away while it is plugged", function ()
    local read, put_back, calls = iface.read, iface.put_back, 0
    iface.put_back = function () end
    iface.read = function ()
      calls = calls + 1
      if calls <= 1 then return ffi.new("struct iface", {mtu = 1500}) end
      return nil, "No such device"
    end
    local description = spec.parse("null")
    local kind = kinds.of(description)
    kind.interface = function () return "perigee-gone0" end
    local ok, err = pcall(plug.open, description)
    iface.read, iface.put_back, kind.interface = read, put_back, nil
    assert.is_false(ok)
    assert.equal("port 'null': the interface went away meanwhile: No such device",
      tostring(err))
    assert.same({}, opened.list())
  end)
end)
