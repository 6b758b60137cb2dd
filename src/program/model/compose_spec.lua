-- SPDX-License-Identifier: Apache-2.0

local compose = require("program.model.compose")

local function near(expected, value)
  assert.is_true(math.abs(value - expected) < 1e-9, ("%s isn't %s"):format(value,
    expected))
end

local TABLE = {ports = {
  {name = "null", cells = {
    {burst = 1, size = 64, receive = 90, send = 80},
    {burst = 32, size = 64, receive = 12, send = 16},
    {burst = 256, size = 64, receive = 10, send = 14},
    {burst = 32, size = 512, receive = 12, send = 16},
  }},
  {name = "vhost", cells = {
    {burst = 32, size = 64, receive = 60, send = 40},
    {burst = 128, size = 64, receive = 50, send = 30},
    {burst = 32, size = 1024, receive = 156, send = 40},
    {burst = 32, size = 1518, receive = 180, send = 60},
  }},
  {name = "tap", cells = {}, problem = "no"},
}}

local function tasks(ports)
  return {task = 100, engine = 2, ports = ports}
end

describe("a prediction for a graph that wasn't measured", function ()
  it("adds up what its ports and its tasks take", function ()
    local p = compose.predict(TABLE, {
      {name = "a", kind = "null", text = "null", burst = 256},
    }, tasks{{name = "a", received = 1, sent = 0.5, in_size = 64, out_size = 64}})
    near(10, p.receive)
    near(7, p.send)
    near(10 + 7 + 100 + 2, p.cycles)
  end)

  it("takes each port by its share, burst and sizes of frames", function ()
    local p = compose.predict(TABLE, {
      {name = "a", kind = "null", text = "null", burst = 30},
      {name = "b", kind = "virtio-user", text = "virtio-user:/x", burst = 256},
    }, tasks{
      {name = "a", received = 0.25, sent = 0, in_size = 300, out_size = 64},
      {name = "b", received = 0.75, sent = 1, in_size = 544, out_size = 2000},
    })
    near(0.25 * 12 + 0.75 * (50 + 48), p.receive) -- half way from 64 to 1,024
    near(30 + 20, p.send) -- as for the largest that was measured
  end)

  it("says which port it knows nothing of", function ()
    for _, kind in ipairs{"tap", "xdp"} do
      local p, problem = compose.predict(TABLE, {
        {name = "a", kind = kind, text = kind .. ":x", burst = 1},
      }, tasks{{name = "a", received = 1, sent = 1, in_size = 64, out_size = 64}})
      assert.is_nil(p)
      assert.equal("the table has no port of the kind of '" .. kind .. ":x'", problem)
    end
  end)
end)
