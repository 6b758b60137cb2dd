-- SPDX-License-Identifier: Apache-2.0

local testing = require("testing.support")

describe("#slow a region in which apps emit", function ()
  -- Each app with two outputs begins another function, which the one before calls at
  -- its end; there are as many as a packet meets that goes round a loop once.
  it("is compiled as a whole where packets meet many apps", function ()
    local said, status = testing.script([[
      local Port = require("apps.port.port").Port
      local Choose = {outputs = {"on", "aside"}, emits = true,
                      process = function (_, p) return p end}
      Choose.__index = Choose
      function Choose:new() return setmetatable({}, self) end
      local c = config.new()
      config.app(c, "port", Port, "null")
      local from = "port.output"
      for i = 1, 30 do
        config.app(c, "a" .. i, Choose)
        config.link(c, from .. " -> a" .. i .. ".input")
        from = "a" .. i .. ".on"
      end
      config.link(c, from .. " -> port.input")
      engine.configure(c)
      local region = engine.regions[1]
      local ends = require("core.native").pg_monotonic() + 20
      engine.busywait = true
      engine.main{no_report = true, done = function ()
        return region.shapes[1].taken or require("core.native").pg_monotonic() > ends
      end}
      print(region.shapes[1].taken ~= nil)]])
    assert.equal("true\n", said)
    assert.equal(0, status)
  end)
end)
