-- SPDX-License-Identifier: Apache-2.0
local registry = require("click.registry")

describe("click.registry", function ()
  it("finds classes by name and alias", function ()
    assert.equal("Queue", registry.find("Queue").name)
    assert.equal(registry.find("Queue"), registry.find("ThreadSafeQueue"))
    assert.is_nil(registry.find("NoSuchClass"))
  end)

  -- A registry that has loaded nothing.
  local function fresh()
    package.loaded["click.registry"] = nil
    local made = require("click.registry")
    package.loaded["click.registry"] = registry
    return made
  end

  it("finds each by itself #slow", function ()
    for _, name in ipairs(registry.names()) do
      assert.equal(registry.find(name), fresh().find(name), name)
    end
    assert.is_nil(fresh().find("NoSuchClass"))
  end)

  it("doesn't load what isn't looked for", function ()
    local kept = {}
    for name, module in pairs(package.loaded) do
      if name:find("^click%.elements%.") then
        kept[name], package.loaded[name] = module, nil
      end
    end
    fresh().find("Script")
    local loaded = {}
    for name in pairs(package.loaded) do
      if name:find("^click%.elements%.") then loaded[#loaded + 1] = name end
    end
    for name, module in pairs(kept) do package.loaded[name] = module end
    assert.same({"click.elements.control.script"}, loaded)
  end)

  it("has classes that are complete", function ()
    local ports = require("click.router.ports")
    for _, class in ipairs(registry.list()) do
      local name = class.name
      assert.is_true(#class.summary > 5, name)
      assert.is_nil(class.summary:match("%.$"), name)
      for _, code in ipairs{"ports", "processing", "flow"} do
        if type(class[code]) == "string" then
          local fine
          if code == "ports" then fine = ports.count(class.ports, 1, 1)
          elseif code == "flow" then fine = ports.flows(class.flow, 1, 1) ~= nil
          else fine = ports.processing(class.processing, 1, 1)
            or ports.processing(class.processing, 0, 1) end
          assert.is_truthy(fine, name .. " " .. class[code])
        end
      end
    end
  end)

  it("lists names in order", function ()
    local names = registry.names()
    for i = 2, #names do assert.is_true(names[i - 1] < names[i]) end
    assert.is_true(#names > 60)
  end)
end)
