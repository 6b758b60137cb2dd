-- SPDX-License-Identifier: Apache-2.0
-- Runs the examples in the READMEs of Snabb's apps of the IP family.

local main = require("core.main")
local testing = require("core.testing")

describe("the example in the README of", function ()
  for _, folder in ipairs{"apps/ipv4", "apps/ipv6", "apps/vlan",
                          "apps/keyed_ipv6_tunnel"} do
    it(folder .. " runs", function ()
      local file = assert(io.open(("%s/%s/README.md"):format(main.root, folder)))
      local code = file:read("*a"):match("```lua\n(.-)```")
      file:close()
      local said, status = testing.script(code)
      assert.equal(0, status, said)
    end)
  end
end)
