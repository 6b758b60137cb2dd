-- SPDX-License-Identifier: Apache-2.0

local Fwd = require("apps.fwd.fwd").Fwd
local Port = require("apps.port.port").Port
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local direct_links = require("core.fuse.direct_links")
local engine = require("core.app")

-- A port that doesn't do what the method is for.
local function without(method)
  local class = setmetatable({[method] = false}, {__index = Port})
  class.__index = class
  function class:new(arg) return setmetatable(Port:new(arg), class) end
  return class
end

local Bulk = {outputs = {"output"}}
Bulk.__index = Bulk
function Bulk:new() return setmetatable({}, Bulk) end
function Bulk.process_burst(_, _, n, route)
  for i = 0, n - 1 do route[i] = 1 end
end

-- What the port has received and sent, behind and in front of apps of the class.
local function counts(class, app)
  local c = config.new()
  config.app(c, "port", class, "null")
  config.app(c, "source", basic.Source)
  config.app(c, "sink", basic.Sink)
  config.app(c, "a", app)
  config.app(c, "b", app)
  config.link(c, "port.output -> a.input")
  config.link(c, "a.output -> sink.input")
  config.link(c, "source.output -> b.input")
  config.link(c, "b.output -> port.input")
  engine.configure(c)
  for _ = 1, 3 do engine.breathe() end
  local port = engine.app_table.port.port
  return tonumber(port.rxpackets), tonumber(port.txpackets)
end

describe("core.fuse.direct_links", function ()
  after_each(function () engine.configure(config.new()) end)

  it("is none of an app that isn't a port", function ()
    assert.is_nil(direct_links.port_of(nil, "pull"))
    assert.is_nil(direct_links.port_of({pull = Port.pull}, "pull"))
  end)

  it("goes past the methods of ports, not past what replaces them", function ()
    for _, app in ipairs{Fwd, Bulk} do
      local received, sent = counts(Port, app)
      assert.is_true(received > 0 and sent > 0)
      received, sent = counts(without("pull"), app)
      assert.is_true(received == 0 and sent > 0)
      received, sent = counts(without("push"), app)
      assert.is_true(received > 0 and sent == 0)
    end
  end)
end)
