-- SPDX-License-Identifier: Apache-2.0

local testing = require("testing.harness")
local Tunnel = require("apps.keyed_ipv6_tunnel.tunnel").SimpleKeyedTunnel

local ARG = {local_address = "2001:db8::1", remote_address = "2001:db8::2",
  local_cookie = "0102030405060708", remote_cookie = "1112131415161718",
  default_gateway_MAC = "02:00:00:00:00:09"}

local function with(changes)
  local arg = {}
  for key, value in pairs(ARG) do arg[key] = value end
  for key, value in pairs(changes or {}) do arg[key] = value end
  return arg
end

local BOTH = {"encapsulated", "decapsulated"}
local function tunnel(changes) return testing.app(Tunnel, with(changes), BOTH, BOTH) end

-- The other end.
local BACK = {local_address = ARG.remote_address, remote_address = ARG.local_address,
  local_cookie = ARG.remote_cookie, remote_cookie = ARG.local_cookie}

local function into(app, frames)
  return testing.through(app, frames, "decapsulated", "encapsulated")
end

local function out_of(app, packets)
  return testing.through(app, packets, "encapsulated", "decapsulated")
end

local A, B = "\32\1\13\184" .. ("\0"):rep(11) .. "\1",
  "\32\1\13\184" .. ("\0"):rep(11) .. "\2"

describe("SimpleKeyedTunnel", function ()
  it("writes the headers of RFC 8159", function ()
    assert.same({"\2\0\0\0\0\9" .. ("\0"):rep(6) .. "\134\221"
      .. "\96\0\0\0\1\11\115\64" .. A .. B .. "\255\255\255\255"
      .. "\1\2\3\4\5\6\7\8" .. ("f"):rep(255)},
      into(tunnel(), {("f"):rep(255)}))
    local bytes = into(tunnel{local_session = 0xfffefdfc, hop_limit = 3}, {""})[1]
    assert.equal("\255\254\253\252", bytes:sub(55, 58))
    assert.equal(3, bytes:byte(22))
  end)

  it("reads what the other end writes", function ()
    local there, back = tunnel(), tunnel(BACK)
    local frames = {"", "x", ("y"):rep(1514), ("z"):rep(10174)}
    assert.same(frames, out_of(back, into(there, frames)))
    assert.same({}, into(there, {("z"):rep(10175)}))
    assert.equal(1, testing.count(there, "oversize_errors"))
  end)

  it("refuses the rest, and counts it", function ()
    local back, p = tunnel(BACK), into(tunnel(), {"frame"})[1]
    local function changed(place)
      return p:sub(1, place) .. "\99" .. p:sub(place + 2)
    end
    for name, bytes in pairs{
        length_errors = p:sub(1, 65), protocol_errors = changed(20),
        cookie_errors = changed(65), remote_address_errors = changed(37),
        local_address_errors = changed(38)} do
      assert.same({}, out_of(back, {bytes}))
      assert.same({name, 1}, {name, testing.count(back, name)})
    end
    assert.equal(5, testing.count(back, "rxerrors"))
  end)

  it("reads nothing outside a packet #slow", function ()
    local back, p = tunnel(BACK), into(tunnel(), {"frame"})[1]
    assert.equal(0, testing.at_the_edge(back, "encapsulated", 3000, function ()
      return testing.mutate(p, 12)
    end))
  end)

  it("refuses arguments that can't be", function ()
    for key, value in pairs{
        local_address = "10.0.0.1", local_cookie = "12345678901234567",
        remote_cookie = "xy", hop_limit = 256, local_session = 2 ^ 32,
        default_gateway_MAC = "02"} do
      assert.has_error(function () Tunnel:new(with{[key] = value}) end)
    end
  end)
end)
