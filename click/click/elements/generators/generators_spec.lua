-- SPDX-License-Identifier: Apache-2.0
local checksum = require("net.checksum.checksum")
local click_router = require("testing.click_router")
local frames = require("click.traffic.frames")
local note = require("click.note")

local HERE = "90:e2:ba:c3:77:70, 10.0.0.101"
local THERE = "90:e2:ba:c3:77:d2, 10.0.0.100"

-- The Ethernet and IP headers, and UDP or TCP, as Scapy makes them (ttl=250, id=0).
local ETHERNET = "90e2bac377d290e2bac377700800"
local UDP = ETHERNET .. "4500002e00000000fa11abf60a0000650a000064"
  .. "04d20050001ae5cf000000000000000000000000000000000000"
local SYN = ETHERNET .. "4500002f00000000fa06ac000a0000650a000064"
  .. "04d2005000000001000000005002ffff95f00000" .. ("00"):rep(7)

local function hex(s)
  return (s:gsub(".", function (c) return ("%02x"):format(c:byte()) end))
end

local function source(name, ...)
  return ("%s(%s)"):format(name, table.concat({...}, ", "))
end

local function port16(s, at) return s:byte(at + 1) * 256 + s:byte(at + 2) end

-- Is the checksum of the UDP or TCP packet right?
local function sound(s)
  local bytes = require("ffi").new("uint8_t[?]", #s, s:byte(1, -1))
  return checksum.fold(frames.transport_sum(bytes, #s)) == 0
end

describe("FastUDPSource", function ()
  it("makes packets as another implementation does", function ()
    local ip
    local r = click_router.run(source("FastUDPSource", 0, 3, 60, HERE, 1234, THERE, 80,
      "INTERVAL 2", "STOP true") .. "-> Catch", {look = function (p)
        ip = {p.note16[note.NETWORK_HEADER] - p.data_off, p.note32[note.DST_IP]}
      end})
    assert.equal(3, #r.caught)
    assert.equal(UDP, hex(r.caught[1]))
    assert.equal(UDP, hex(r.caught[2]))
    assert.equal(1235, port16(r.caught[3], frames.TRANSPORT))
    assert.is_true(sound(r.caught[3]))
    assert.same({14, 0x6400000a}, ip)
  end)

  it("needs no arguments", function ()
    local r = click_router.run("FastUDPSource(LIMIT 1, STOP true) -> Catch")
    assert.equal(("00"):rep(12) .. "0800" .. "450000320000" .. "0000fa11c2b8"
      .. "7f0000017f000001" .. "03e803e8001ef9df" .. ("00"):rep(22), hex(r.caught[1]))
  end)
end)

describe("FastUDPFlows", function ()
  local ports = {}

  local function run(...)
    local r = click_router.run("s :: " .. source("FastUDPFlows", ...)
      .. "-> Catch; DriverManager(pause)")
    ports = {}
    for _, s in ipairs(r.caught) do
      local key = port16(s, frames.TRANSPORT) .. " " .. port16(s, frames.TRANSPORT + 2)
      ports[key] = (ports[key] or 0) + 1
    end
    return r
  end

  local function flows()
    local n = 0
    for _ in pairs(ports) do n = n + 1 end
    return n
  end

  it("makes many flows, each of so many packets", function ()
    local r = run(0, 1000, 64, HERE, THERE, 4, 50, "STOP true")
    assert.equal(1000, #r.caught)
    for i = 1, 1000, 100 do
      assert.equal(64, #r.caught[i])
      assert.is_true(sound(r.caught[i]))
    end
    assert.is_true(flows() >= 20 and flows() <= 24)
    for _, n in pairs(ports) do assert.is_true(n <= 50) end
    assert.equal("1000", r:handler_read("s.count"))
  end)

  it("takes flows in turn, in bursts, without checksums", function ()
    local r = run(0, 12, 60, HERE, THERE, 3, 100, "SEQUENTIAL true", "FLOWBURST 2",
      "CHECKSUM false", "STOP true")
    assert.equal(3, flows())
    for i = 1, 12, 2 do
      assert.equal(r.caught[i], r.caught[i + 1])
      assert.equal(0, port16(r.caught[i], frames.TRANSPORT + 6))
    end
    assert.not_equal(r.caught[2], r.caught[3])
  end)

  it("keeps to a rate", function ()
    local r = click_router.make("s :: " .. source("FastUDPFlows", 1000, -1, 60, HERE,
      THERE, 1, 1) .. "-> Catch")
    click_router.turn(r, 0.0025)
    assert.near(3, #r.caught, 1) -- evenly: no burst at first
    click_router.turn(r, 1.9975)
    assert.near(2000, #r.caught, 1)
    r:handler_write("s.rate", "10")
    local before = #r.caught
    click_router.turn(r, 2)
    assert.near(20, #r.caught - before, 1)
    assert.same({false, "rate parameter must be integer >= 0"},
      {r:handler_write("s.rate", "x")})
    r:close()
  end)

  it("makes up for nothing in which it was to wait", function ()
    local r = click_router.make("s :: " .. source("FastUDPFlows", 1000, 5, 60, HERE,
      THERE, 1, 1) .. "-> Catch; TimedSource(0.1) -> Discard") -- time passes
    click_router.turn(r, 2)
    assert.equal(5, #r.caught)
    r:handler_write("s.limit", "-1")
    click_router.turn(r, 0.0025)
    assert.near(5 + 3, #r.caught, 1)
    r:handler_write("s.active", "false")
    click_router.turn(r, 2)
    local before = #r.caught
    r:handler_write("s.active", "true")
    click_router.turn(r, 0.0025)
    assert.near(3, #r.caught - before, 1)
    r:close()
  end)

  it("is pulled from", function ()
    local r = click_router.run("s :: " .. source("FastUDPFlows", 0, 7, 60, HERE, THERE,
      2, 2, "STOP true") .. "-> Unqueue -> Catch")
    assert.equal(7, #r.caught)
  end)

  it("starts again, with other addresses and lengths", function ()
    local r = click_router.make("s :: " .. source("FastUDPFlows", 0, 2, 60, HERE, THERE,
      1, 9) .. "-> Catch")
    click_router.turn(r, 1)
    r:handler_write("s.length", "100")
    r:handler_write("s.dsteth", "1:2:3:4:5:6")
    r:handler_write("s.reset", "")
    click_router.turn(r, 1)
    assert.equal(4, #r.caught)
    assert.equal(100, #r.caught[3])
    assert.equal("010203040506", hex(r.caught[3]:sub(1, 6)))
    assert.is_true(sound(r.caught[4]))
    r:handler_write("s.active", "false")
    r:handler_write("s.limit", "9")
    click_router.turn(r, 1)
    assert.equal(4, #r.caught)
    r:close()
  end)

  it("says what is wrong", function ()
    local _, problem = click_router.make(source("FastUDPFlows", 0, 2, 60, HERE, THERE,
      0, 9) .. "-> Catch")
    assert.truthy(problem:find("FLOWS must be at least 1", 1, true))
  end)
end)

describe("FastTCPFlows", function ()
  local SYN_FLAG, FIN_FLAG = 2, 1

  local function flags(s) return s:byte(frames.TRANSPORT + 14) end

  it("begins and ends its flows", function ()
    local r = click_router.run("s :: " .. source("FastTCPFlows", 0, 50, 61, HERE, THERE,
      3, 5, "STOP true") .. "-> Unqueue -> Catch")
    local open, opened = 0, 0
    for _, s in ipairs(r.caught) do
      if flags(s) == SYN_FLAG then open, opened = open + 1, opened + 1 end
      if flags(s) == FIN_FLAG then open = open - 1 end
      assert.is_true(sound(s))
    end
    assert.equal(0, open)
    assert.is_true(opened >= 10 and #r.caught >= 50 and #r.caught <= 53)
  end)

  it("makes packets as another implementation does", function ()
    local r = click_router.run("s :: " .. source("FastTCPFlows", 0, 1, 61, HERE, THERE,
      1, 3, "STOP true") .. "-> Unqueue -> Catch")
    local s = r.caught[1]
    local there = hex(s)
    -- The same but for the ports and the checksum, which they are in.
    assert.equal(SYN:sub(1, 68), there:sub(1, 68))
    assert.equal(SYN:sub(77, 100), there:sub(77, 100))
    assert.equal(SYN:sub(105), there:sub(105))
    assert.is_true(sound(s))
  end)
end)
