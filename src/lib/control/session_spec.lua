-- SPDX-License-Identifier: Apache-2.0

local session = require("lib.control.session")

local MUCH = ("x"):rep(2 ^ 20)

local function stopped(raw)
  local stops = 0
  local job = {tend = function () end, stop = function () stops = stops + 1 end}
  local function run() return {}, job end
  local s = session.new{capture = {arguments = {}, run = run}}
  s:receive('{"do":"capture"}\n')
  s:work()
  s.raw = raw
  s:send(MUCH)
  s:receive('{"do":"capture"}\n')
  s:work()
  return stops, s.full
end

describe("a session of the control socket", function ()
  it("makes room for others until its client has asked for something", function ()
    local s = session.new{}
    s:receive('{"do":')
    s:work()
    assert.is_true(s:is_idle())
    s:receive('"x"}\n')
    s:work()
    assert.is_false(s:is_idle())
  end)

  it("hears a client that is to stop its bytes, however many wait", function ()
    assert.same({1, false}, {stopped(true)})
  end)

  it("answers a client when it has taken most of what it got", function ()
    assert.same({0, true}, {stopped(false)})
  end)
end)
