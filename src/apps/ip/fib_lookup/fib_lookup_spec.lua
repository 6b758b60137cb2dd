-- SPDX-License-Identifier: Apache-2.0

local FibLookup = require("apps.ip.fib_lookup.fib_lookup").FibLookup
local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")

local Idle = {new = function () return {} end}

local function setup(arg)
  local c = config.new()
  config.app(c, "fib", FibLookup, arg)
  config.app(c, "ends", Idle)
  config.link(c, "ends.x -> fib.input")
  config.link(c, "fib.output -> ends.y")
  engine.configure(c)
  return engine.app_table.fib
end

local function frame_to(address)
  local a, b, c, d = address:match("(%d+)%.(%d+)%.(%d+)%.(%d+)")
  local p = packet.resize(packet.allocate(), 60)
  p.data[30], p.data[31], p.data[32], p.data[33] =
    tonumber(a), tonumber(b), tonumber(c), tonumber(d)
  return p
end

-- The next hops that come out for packets to these addresses.
local function hops_of(app, addresses)
  for _, address in ipairs(addresses) do
    link.transmit(app.input.input, frame_to(address))
  end
  engine.breathe()
  local hops = {}
  while not link.empty(app.output.output) do
    local p = link.receive(app.output.output)
    hops[#hops + 1] = tonumber(p.hash[1])
    packet.free(p)
  end
  return hops
end

describe("FibLookup", function ()
  after_each(function () engine.configure(config.new()) end)

  it("finds the longest prefix", function ()
    local app = setup{routes = {["10.0.0.0/8"] = 1, ["10.1.0.0/16"] = 2,
      ["10.1.2.0/24"] = 3, ["10.1.2.128/25"] = 4, ["10.1.2.200/32"] = 2 ^ 31 - 1,
      ["128.0.0.0/1"] = 6}}
    assert.same({1, 2, 3, 4, 2 ^ 31 - 1, 4, 6}, hops_of(app, {"10.255.0.1", "10.1.3.0",
      "10.1.2.127", "10.1.2.128", "10.1.2.200", "10.1.2.201", "255.255.255.255"}))
  end)

  it("drops packets without a route, and keeps the others in order", function ()
    local app = setup{routes = {["192.0.2.0/24"] = 7, ["198.51.100.0/24"] = 8}}
    local addresses = {}
    for i = 1, 200 do
      addresses[i] = ({"192.0.2.1", "203.0.113.1", "198.51.100.9"})[i % 3 + 1]
    end
    local hops, n = hops_of(app, addresses), 0
    for i = 1, 200 do
      local hop = ({7, false, 8})[i % 3 + 1]
      if hop then
        n = n + 1
        assert.equal(hop, hops[n])
      end
    end
    assert.equal(n, #hops)
    assert.same({no_route = 200 - n}, engine.drops("fib"))
  end)

  it("drops packets without room for the address", function ()
    local app = setup{routes = {["0.0.0.0/0"] = 1}}
    for length = 0, 34 do
      link.transmit(app.input.input,
        packet.resize(packet.resize(packet.allocate(), 60), length))
    end
    engine.breathe()
    assert.equal(1, link.nreadable(app.output.output))
    assert.same({short = 34}, engine.drops("fib"))
  end)

  it("takes routes later, and another for the same prefix", function ()
    local app = setup()
    assert.same({}, hops_of(app, {"192.0.2.1"}))
    app:add("192.0.2.0/24", 1)
    app:add_number(0xc0000200, 25, 2)
    assert.same({2, 1}, hops_of(app, {"192.0.2.1", "192.0.2.129"}))
    app:add("192.0.2.0/24", 3)
    assert.same({2, 3}, hops_of(app, {"192.0.2.1", "192.0.2.129"}))
  end)

  it("refuses what isn't a route, in a sentence", function ()
    local app = setup()
    for _, text in ipairs{"10.0.0.0", "10.0.0.0/33", "256.0.0.0/8", "a/8", "/8"} do
      local ok, err = pcall(app.add, app, text, 1)
      assert.is_false(ok)
      assert.equal(("'%s' isn't an IPv4 prefix such as 192.0.2.0/24"):format(text),
        tostring(err))
    end
    for _, hop in ipairs{0, -1, 1.5, 2 ^ 31, "x"} do
      local ok, err = pcall(app.add, app, "10.0.0.0/8", hop)
      assert.is_false(ok)
      assert.equal(("a next hop is a whole number from 1 to 2147483647, not '%s'")
        :format(hop), tostring(err))
    end
    assert.same({}, hops_of(app, {"10.0.0.1"}))
  end)

  it("says when the table is full, and gives its memory back", function ()
    for _ = 1, 3 do
      local ok, err = pcall(setup, {max_routes = 2, routes = {["10.0.0.0/24"] = 1,
        ["10.0.1.0/24"] = 1, ["10.0.2.0/24"] = 1, ["10.0.3.0/24"] = 1,
        ["10.0.4.0/24"] = 1, ["10.0.5.0/24"] = 1}})
      assert.is_false(ok)
      assert.matches("the route can't be added: ", tostring(err))
    end
    assert.is_true(setup{max_routes = 2} ~= nil)
  end)
end)
