-- SPDX-License-Identifier: Apache-2.0
-- The generators of Snabb's `packetblaster lwaftr`.

local engine = require("core.app")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local blaster = require("program.packetblaster.lwaftr.lib")
local testing = require("testing.support")

local CONF = {
  sizes = {64, 594, 1464}, rate = 1/0, count = 1, single_pass = true,
  b4_ipv4 = "10.0.0.255", b4_port = 30000, public_ipv4 = "8.8.8.8",
}
local TUNNEL = {b4_ipv6 = "2001:db8::ffff", aftr_ipv6 = "2001:db8:ffff::100"}

local hex = require("net.wire.bytes").from_hex

-- What Snabb's own program wrote for the first softwire, but for the addresses.
local UDP4 = hex[[45 00 00 2e 00 00 00 00 0f 11 90 b1 08 08 08 08 0a 00 00 ff
  30 39 75 30 00 1a 00 00 ce fa fe af 00 00 00 00 00 00 00 00 00 00 00 00 00 00]]
local IP6 = hex[[60 10 00 00 00 2e 04 ff 20010db8 00000000 00000000 0000ffff
  20010db8 ffff0000 00000000 00000100]]
local UDP6 = hex[[45 00 00 2e 00 00 00 00 0f 11 90 b1 0a 00 00 ff 08 08 08 08
  75 30 30 39 00 1a 00 00 ce fa fe af 00 00 00 00 00 00 00 00 00 00 00 00 00 00]]

describe("program.packetblaster.lwaftr.lib", function ()
  local input, output, now, plain_now, plain_print

  local function app(class, changes)
    local conf = {}
    local from = {CONF, changes or {}, class == blaster.B4Gen and TUNNEL or {}}
    for i = 1, 3 do
      for key, value in pairs(from[i]) do conf[key] = value end
    end
    local made = class:new(lib.parse(conf, class.config))
    made.input, made.output = {input = input}, {output = output, output}
    return made
  end

  local function receive() return testing.bytes_of(link.receive(output)) end

  local function all()
    local list = {}
    while not link.empty(output) do list[#list + 1] = receive() end
    return list
  end

  before_each(function ()
    input, output = link.new("blaster_input"), link.new("blaster_output")
    plain_now, plain_print = engine.now, print
    now = 1000
    engine.now = function () return now end
    rawset(_G, "print", function () end)
  end)
  after_each(function ()
    engine.now = plain_now
    rawset(_G, "print", plain_print)
    link.free(input, "blaster_input")
    link.free(output, "blaster_output")
  end)

  it("makes Snabb's packets", function ()
    app(blaster.InetGen):pull()
    local ether4 = ("\0"):rep(12) .. "\8\0"
    assert.equal(ether4 .. UDP4, receive())
    assert.same({590, 1460}, {#receive(), #receive()})
    app(blaster.B4Gen):pull()
    assert.equal(("\0"):rep(12) .. "\134\221" .. IP6 .. UDP6, receive())
    assert.same({630, 1500}, {#receive(), #receive()})
  end)

  -- How many packets there are after each of these pauses, in seconds.
  local function counts(class, rate, pauses)
    local gen = app(class, {sizes = {64}, rate = rate, single_pass = false})
    local list = {}
    for i, seconds in ipairs(pauses) do
      now = now + seconds
      gen:pull()
      list[i] = #all()
    end
    return list
  end

  it("keeps its rate, and makes up for a second at most", function ()
    assert.same({50, 25, 50, 50}, counts(blaster.InetGen, 50e-6, {0, 0.5, 1, 100}))
  end)

  it("keeps a rate of less than a packet a second", function ()
    assert.same({1, 0, 1, 1}, counts(blaster.B4Gen, 0.25e-6, {0, 3, 1, 4}))
  end)

  it("goes from softwire to softwire by port, and by address", function ()
    local gen = app(blaster.B4Gen, {sizes = {64}, count = 3, single_pass = false})
    gen:pull()
    local seen = {}
    for i, bytes in ipairs(all()) do
      if i <= 4 then
        seen[i] = lib.hexdump(bytes:sub(34, 38) .. bytes:sub(67, 70)
          .. bytes:sub(75, 76))
      end
    end
    assert.same({
      "00 00 00 FF FF 0A 00 00 FF 75 30", "00 00 01 00 00 0A 00 00 FF EA 60",
      "00 00 01 00 01 0A 00 01 00 75 30", "00 00 00 FF FF 0A 00 00 FF 75 30",
    }, seen)
  end)

  it("sends every packet of every softwire, whatever links have room for", function ()
    local sizes = {}
    for i = 1, 11 do sizes[i] = 64 end
    for _, class in ipairs{blaster.B4Gen, blaster.InetGen} do
      local gen, n, pulls = app(class, {count = 1000, sizes = sizes}), 0, 0
      repeat
        gen:pull()
        for _, bytes in ipairs(all()) do
          local at = class == blaster.B4Gen and 86 or 46
          assert.equal(n, bytes:byte(at + 1) + 256 * bytes:byte(at + 2))
          n = n + 1
        end
        pulls = pulls + 1
      until gen:done() or pulls > 100
      assert.equal(11000, n)
      assert.equal(0, link.stats(output).txdrop)
    end
  end)

  it("leaves room for the other one behind Interleave", function ()
    local four, six = link.new("blaster_four"), link.new("blaster_six")
    local join = blaster.Interleave:new()
    join.input, join.output = {four, six}, {output = output}
    for _, pair in ipairs{{blaster.InetGen, four}, {blaster.B4Gen, six}} do
      local gen = app(pair[1], {count = 1e6})
      gen.output = {output = pair[2]}
      gen:pull()
    end
    join:push()
    local types, first = {}, all()
    for i = 1, 4 do types[i] = lib.hexdump(first[i]:sub(13, 14)) end
    assert.same({"08 00", "86 DD", "08 00", "86 DD"}, types)
    assert.is_true(link.empty(four) and link.empty(six))
    assert.equal(0, link.stats(output).txdrop)
    -- What finds no room waits.
    for _ = 1, link.max do link.transmit(output, packet.allocate()) end
    link.transmit(four, packet.allocate())
    join:push()
    assert.is_false(link.empty(four))
    assert.equal(0, link.stats(output).txdrop)
    link.free(four, "blaster_four")
    link.free(six, "blaster_six")
  end)

  it("keeps to a rate, after a second's worth", function ()
    local gen = app(blaster.InetGen, {rate = 1e-3, count = 10, single_pass = false})
    local function sent()
      gen:pull()
      return #all()
    end
    assert.equal(511, sent())
    assert.equal(489, sent())
    assert.equal(0, sent())
    now = now + 0.25
    assert.equal(250, sent())
    assert.equal(0, app(blaster.InetGen, {rate = 0}):pull() or #all())
  end)

  it("counts what comes back, and what is missing by number", function ()
    local from, to = app(blaster.InetGen, {rate = 0}), app(blaster.B4Gen, {count = 9})
    to:pull()
    for i, bytes in ipairs(all()) do
      if i ~= 4 and i ~= 5 then link.transmit(input, packet.from_string(bytes)) end
    end
    link.transmit(input, packet.from_string("short"))
    link.transmit(input, packet.from_string(("\0"):rep(12) .. "\134\221 no more"))
    from:pull()
    assert.equal(26, from.rx_packets)
    assert.equal(2, from.lost_packets)
  end)

  it("refuses sizes and addresses that can't be", function ()
    for _, case in ipairs{
      {{sizes = {63}}, "frames have 64 to 10204 bytes, not 63"},
      {{sizes = {10205}}, "not 10205"}, {{sizes = {}}, "give a size"},
      {{b4_ipv4 = "10.0.0"}, "10.0.0"},
    } do
      local ok, err = pcall(app, blaster.InetGen, case[1])
      assert.is_false(ok)
      assert.matches(case[2], tostring(err), 1, true)
    end
  end)
end)
