-- SPDX-License-Identifier: Apache-2.0
-- Runs the example in the README of each app of this folder.

local main = require("core.main")
local testing = require("core.testing")

local SAYS = {check_header = "true\n", dec_ttl = "true\n", fib_lookup = "",
              rewrite_macs = "true\n"}

describe("the example in the README of", function ()
  for app, expected in pairs(SAYS) do
    it("apps/ip/" .. app .. " runs", function ()
      local path = ("%s/apps/ip/%s/README.md"):format(main.root, app)
      local file = assert(io.open(path))
      local code = file:read("*a"):match("```lua\n(.-)```")
      file:close()
      local said, status = testing.script(code)
      assert.equal(expected, said)
      assert.equal(0, status)
    end)
  end
end)
