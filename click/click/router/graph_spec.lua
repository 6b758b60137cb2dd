-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local config = require("core.config")
local element = require("click.element")
local engine = require("core.app")
local graph = require("click.router.graph")
local registry = require("click.registry")

local function configuration(text, options)
  local r = assert(click.router(text, options))
  local c = graph.configuration(r)
  r:close()
  return c, r
end

describe("click.router.graph", function ()
  after_each(function () engine.configure(config.new()) end)

  it("makes apps and links of what pushes", function ()
    local c, r = configuration("s :: InfiniteSource -> t :: Tee -> q :: Queue "
      .. "-> n :: Null -> u :: Unqueue -> d :: Discard; t[1] -> d; i :: AddressInfo")
    assert.same({"d", "n", "q", "s", "t", "u"}, config.sorted_keys(c.apps))
    assert.same({"s.0 -> t.0", "t.0 -> q.0", "t.1 -> d.0", "u.0 -> d.0"},
      config.sorted_keys(c.links))
    assert.is_false(r:find("q").pull)
    assert.is_false(r:find("n").process)
    assert.is_truthy(r:find("t").emits)
    assert.is_false(r:find("d").emits)
    engine.configure(c)
    assert.equal(1, #engine.regions)
  end)

  it("lets elements add apps and links", function ()
    local Port = {new = function () return {} end}
    local Device = element.define{
      name = "Device", ports = "0/1", more_inputs = {"device"}, processing = "/h",
      process = function (_, p, i) return p, i end,
      wire = function (self, c)
        config.app(c, "port", Port)
        config.link(c, "port.output -> " .. self.name .. ".device")
      end,
    }
    local c = configuration("d :: Device -> Discard", {find_class = function (name)
      return name == "Device" and Device or registry.find(name)
    end})
    assert.same({"Discard@2.0", "d.device"}, (function ()
      local ends = {}
      for spec in pairs(c.links) do
        local _, _, to, input = config.parse_link(spec)
        ends[#ends + 1] = to .. "." .. input
      end
      table.sort(ends)
      return ends
    end)())
    engine.configure(c)
  end)
end)
