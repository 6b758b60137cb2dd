-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local NDP = require("apps.lwaftr.ndp").NDP
local nd = require("net.neighbor.nd")
local packet = require("core.packet")
local parse = require("lib.stack.address")
local testing = require("testing.harness")
local bytes_of = require("testing.support").bytes_of

local function mac(last) return ffi.new("uint8_t[6]", 2, 0, 0, 0, 0, last) end
local function ip(text) return parse.parseIP6Address(text) end

local US, THEM, NOBODY = ip("2001:db8::1"), ip("2001:db8::2"), ip("::")

local function through(app, frames, input, output)
  local say = print
  _G.print = function () end
  local ok, result = pcall(testing.through, app, frames, input, output)
  _G.print = say
  assert(ok, result)
  return result
end

local ENDS = {"north", "south"}

local function app(next_mac)
  return testing.app(NDP,
    {self_mac = mac(1), self_ip = US, next_ip = THEM, next_mac = next_mac}, ENDS, ENDS)
end

local function advertised(flags)
  local asked = nd.solicitation(mac(1), US, THEM)
  local p = nd.advertisement(mac(2), THEM, asked.data, nd.ROUTER)
  packet.free(asked)
  if flags then p.data[58] = flags end
  return bytes_of(p)
end

describe("NDP", function ()
  it("asks, believes the answer, and sends packets there", function ()
    local a = app()
    through(a, {}, "south", "south")
    assert.False(a.next_mac)
    through(a, {advertised(0x40)}, "south", "north") -- its checksum is wrong now
    assert.False(a.next_mac)
    through(a, {advertised()}, "south", "north")
    assert.equal(2, a.next_mac[5])
    local out = through(a, {("x"):rep(60)}, "north", "south")
    assert.equal("\2\0\0\0\0\2\2\0\0\0\0\1" .. ("x"):rep(48), out[#out])
  end)

  it("answers who asks for it, as a router", function ()
    local a = app(mac(2))
    local out = through(a, {bytes_of(nd.solicitation(mac(2), THEM, US)),
      bytes_of(nd.solicitation(mac(2), THEM, ip("2001:db8::9")))}, "south", "south")
    assert.equal(1, #out)
    assert.equal("\2\0\0\0\0\2\2\0\0\0\0\1", out[1]:sub(1, 12))
    assert.equal("\136\0", out[1]:sub(55, 56))
    assert.equal("\192", out[1]:sub(59, 59)) -- router, solicited
  end)

  it("passes what isn't neighbour discovery, cut short or not", function ()
    local a = app(mac(2))
    local asked, passed, n = bytes_of(nd.solicitation(mac(2), THEM, US)), 0, 0
    for length = 1, #asked do
      n = n + 1
      passed = passed + #through(a, {asked:sub(1, length)}, "south", "north")
    end
    assert(passed >= 57 and passed < n, passed)
  end)

  it("isn't told who asks by one who has no address and names one", function ()
    local a = app(mac(2))
    local frame = bytes_of(nd.solicitation(mac(2), NOBODY, US))
    assert.equal(0, #through(a, {frame}, "south", "south"))
  end)

  it("wants to know its next hop", function ()
    assert.has_error(function () NDP:new{self_ip = US} end)
  end)

  it("asks in the first breath, and knows in the second", function ()
    local Sink = require("apps.basic.basic_apps").Sink
    local config, engine = require("core.config"), require("core.app")
    local c = config.new()
    config.app(c, "a", NDP, {self_ip = US, next_ip = THEM})
    config.app(c, "b", NDP, {self_ip = THEM, next_ip = US})
    config.app(c, "sink", Sink)
    for _, spec in ipairs{"a.south -> b.south", "b.south -> a.south",
                          "sink.a -> a.north", "a.north -> sink.a", "sink.b -> b.north",
                          "b.north -> sink.b"} do
      config.link(c, spec)
    end
    local say = print
    _G.print = function () end
    finally(function ()
      _G.print = say
      engine.configure(config.new())
    end)
    engine.configure(c)
    for _ = 1, 2 do engine.breathe() end
    assert.truthy(engine.app_table.a.next_mac)
    assert.truthy(engine.app_table.b.next_mac)
  end)
end)
