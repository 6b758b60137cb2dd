-- SPDX-License-Identifier: Apache-2.0
local sriov_env = require("lib.hardware.sriov_env")
local spec = require("lib.port.spec")
local stdlib = require("posix.stdlib")

local NAME = "PCIDEVICE_INTEL_COM_SPEC"

describe("devices that Kubernetes gives", function ()
  before_each(function () stdlib.setenv(NAME, "0000:3b:02.1,0000:3B:02.4") end)
  after_each(function () stdlib.setenv(NAME, nil) end)

  it("are ports by their variable's name", function ()
    assert.equal("0000:3b:02.1", spec.parse(NAME).address)
    assert.equal("0000:3b:02.4", spec.parse(NAME .. ".2").address)
    assert.equal("0000:3b:02.4", spec.parse(NAME .. ".2").text)
    assert.is_nil(sriov_env.device("PCIDEVICE"))
    assert.is_nil(sriov_env.device("null"))
  end)

  it("are told if there is no such one", function ()
    assert.error_matches(function () sriov_env.device(NAME .. ".3") end,
      "has 2 devices: '0000:3b:02.1,0000:3B:02.4'", 1, true)
    assert.error_matches(function () sriov_env.device("PCIDEVICE_OTHER") end,
      "no environment variable PCIDEVICE_OTHER; those of devices: .*" .. NAME)
    stdlib.setenv(NAME, "eth0")
    assert.error_matches(function () sriov_env.device(NAME) end, "'eth0'", 1, true)
  end)
end)
