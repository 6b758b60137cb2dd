-- SPDX-License-Identifier: Apache-2.0

local main = require("core.main")
local testing = require("testing.support")

describe("the README of apps/vtep", function ()
  local file = assert(io.open(main.root .. "/src/apps/vtep/README.md"))
  local text = file:read("*a")
  file:close()

  it("has an example that runs", function ()
    local said, status = testing.script(text:match("```lua\n(.-)```"))
    assert.same({"true\n", 0}, {said, status})
  end)

  it("names every drop", function ()
    for _, name in ipairs{"ingress.Ingress", "encap.Encap", "decap.Decap"} do
      local module, class = name:match("(.*)%.(.*)")
      for _, drop in ipairs(require("apps.vtep." .. module)[class].drops) do
        assert.matches("`" .. drop .. "`", text, 1, true)
      end
    end
  end)
end)
