-- SPDX-License-Identifier: Apache-2.0

local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local drain = require("core.engine.drain")
local engine = require("core.app")
local Port = require("apps.port.port").Port

describe("drain", function ()
  after_each(function () engine.configure(config.new()) end)

  it("lets ports receive again if an app raises", function ()
    local Odd = {new = function (class) return setmetatable({}, {__index = class}) end}
    function Odd.push() error("not now") end
    local c = config.new()
    config.app(c, "port", Port, "null")
    config.app(c, "odd", Odd)
    config.app(c, "sink", basic.Sink)
    config.link(c, "port.output -> odd.input")
    config.link(c, "odd.output -> sink.input")
    engine.configure(c)
    local port = engine.app_table.port.port
    local burst = port.burst
    local ok, err = pcall(drain.here)
    assert.is_false(ok)
    assert.matches("app 'odd'.*not now", tostring(err))
    assert.is_true(burst > 0)
    assert.equal(burst, port.burst)
  end)
end)
