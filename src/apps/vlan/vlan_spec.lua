-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local packet = require("core.packet")
local testing = require("testing.harness")
local vlan = require("apps.vlan.vlan")

local MACS = "abcdefghijkl"
local PLAIN = MACS .. "\8\0payload"

local function tagged(tci, tpid)
  return MACS .. (tpid or "\129\0") .. tci .. "\8\0payload"
end

local function one(app, class, bytes)
  local p = packet.from_string(bytes)
  local q, number = app:process(p)
  if not q then
    packet.free(p)
    return nil, class.drops[number]
  end
  local out = ffi.string(q.data, q.length)
  packet.free(q)
  return out
end

describe("Tagger and Untagger", function ()
  it("put a tag on and take it off", function ()
    for _, case in ipairs{{100, nil, "\0\100", "\129\0"}, {4094, "dot1ad", "\15\254",
        "\136\168"}, {0, 0x19100, "\0\0", "\145\0"}} do
      local arg = {tag = case[1], encapsulation = case[2]}
      local with = tagged(case[3], case[4])
      assert.equal(with, one(vlan.Tagger:new(arg), vlan.Tagger, PLAIN))
      assert.equal(PLAIN, one(vlan.Untagger:new(arg), vlan.Untagger, with))
      assert.is_nil(one(vlan.Untagger:new(arg), vlan.Untagger, PLAIN))
    end
  end)

  it("drop what is too short or too long, and take no other tags", function ()
    local tagger, untagger = vlan.Tagger:new{tag = 1}, vlan.Untagger:new{tag = 1}
    assert.same({nil, "short"}, {one(tagger, vlan.Tagger, MACS:sub(2))})
    assert.same({nil, "oversize"}, {one(tagger, vlan.Tagger, ("x"):rep(10237))})
    assert.same({nil, "other tag"}, {one(untagger, vlan.Untagger, tagged("\0\2"))})
    assert.same({nil, "other tag"},
      {one(untagger, vlan.Untagger, tagged("\0\1"):sub(1, 15))})
    for _, tag in ipairs{-1, 4095, 1.5, "1"} do
      assert.has_error(function () vlan.Tagger:new{tag = tag} end)
    end
    assert.has_error(function () vlan.Tagger:new{tag = 1, encapsulation = "isl"} end)
  end)
end)

describe("VlanMux", function ()
  local function mux()
    local app = testing.app(vlan.VlanMux, {}, {"trunk", "native", "vlan7"},
      {"trunk", "native", "vlan7", "vlan100"})
    for name in pairs(app.input) do app:link("input", name) end
    for name in pairs(app.output) do app:link("output", name) end
    return app
  end

  local function through(app, frames, input, output)
    app.push = function () app.push_link[input](app, app.input[input]) end
    return testing.through(app, frames, input, output)
  end

  it("spreads a trunk by tag", function ()
    local app = mux()
    local frames = {tagged("\0\7"), tagged("\224\100"), PLAIN, tagged("\0\8"), "short",
      tagged("\0\7"):sub(1, 15)}
    assert.same({PLAIN}, through(app, frames, "trunk", "vlan7"))
    assert.same({PLAIN}, testing.sent(app, "vlan100"))
    assert.same({PLAIN}, testing.sent(app, "native"))
    assert.equal(1, testing.count(app, "drop_no_link"))
    assert.equal(2, testing.count(app, "drop_short"))
    app:unlink("output", "vlan7")
    assert.same({}, through(app, {tagged("\0\7")}, "trunk", "vlan7"))
  end)

  it("collects into a trunk", function ()
    local app = mux()
    assert.same({tagged("\0\7")}, through(app, {PLAIN, "x"}, "vlan7", "trunk"))
    assert.same({PLAIN}, through(app, {PLAIN}, "native", "trunk"))
    assert.equal(1, testing.count(app, "drop_short"))
  end)

  it("has no other links", function ()
    for _, name in ipairs{"output", "vlan", "vlan4095", "vlanx"} do
      assert.has_error(function () mux():link("input", name) end)
    end
  end)

  it("reads nothing outside a packet", function ()
    local app = mux()
    app.push = function () app.push_link.trunk(app, app.input.trunk) end
    assert.equal(0, testing.at_the_edge(app, "trunk", 3000, function ()
      return testing.mutate(tagged("\0\7"), 0)
    end))
  end)
end)
