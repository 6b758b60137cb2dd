-- SPDX-License-Identifier: Apache-2.0
-- For the specs of apps.vtep: tunnels, frames and packets as hexadecimal text.

local ffi = require("ffi")
local packet = require("core.packet")
local Decap = require("apps.vtep.decap").Decap
local Encap = require("apps.vtep.encap").Encap
local Ingress = require("apps.vtep.ingress").Ingress
local Tunnel = require("apps.vtep.tunnel")

local testing = {}

--- The bytes that hexadecimal text (with any blanks) stands for.
testing.bytes = require("net.wire.bytes").from_hex

--- A tunnel of 192.0.2.1 (02:..:01) with VNI 42 and the remote 192.0.2.2 (02:..:02),
--- changed by `changes`.
function testing.tunnel(changes)
  local arg = {
    address = "192.0.2.1/24", mac = "02:00:00:00:00:01", vnis = {[42] = 0},
    remotes = {{address = "192.0.2.2", mac = "02:00:00:00:00:02"}}, seed = 1,
  }
  for key, value in pairs(changes or {}) do arg[key] = value end
  return Tunnel.new(arg)
end

--- The same over IPv6: 2001:db8::1 and 2001:db8::2.
function testing.tunnel6(changes)
  local arg = {
    address = "2001:db8::1/64",
    remotes = {{address = "2001:db8::2", mac = "02:00:00:00:00:02"}},
  }
  for key, value in pairs(changes or {}) do arg[key] = value end
  return testing.tunnel(arg)
end

-- What becomes of the bytes in `app`: bytes and the output's name, or nil and that of
-- the drop.
local function outcome(app, class, p)
  local q, number = app:process(p)
  if q == nil then
    packet.free(p)
    return nil, class.drops[number]
  end
  local bytes = ffi.string(q.data, q.length)
  packet.free(q)
  return bytes, (class.outputs or {"output"})[number or 1]
end

--- What an end point sends for a frame: bytes, or nil and why not.
function testing.encapsulate(tunnel, frame)
  local ingress = Ingress:new(tunnel)
  local p = packet.from_string(frame)
  local q, number = ingress:process(p)
  if q == nil then
    packet.free(p)
    return nil, Ingress.drops[number]
  elseif number == 2 then
    packet.free(q)
    return nil, "flood"
  end
  return outcome(Encap:new(tunnel), Encap, q)
end

--- What an end point hands to its inner port for a packet: bytes and "output" (or
--- "host"), or nil and the drop's name.
function testing.decapsulate(tunnel, bytes)
  return outcome(Decap:new(tunnel), Decap, packet.from_string(bytes))
end

--- `bytes` with those from `place` (from 0) on replaced by `new`.
function testing.with(bytes, place, new)
  return bytes:sub(1, place) .. new .. bytes:sub(place + #new + 1)
end

return testing
