-- SPDX-License-Identifier: Apache-2.0
-- The esp benchmark: one IPv6 packet, encapsulated or decapsulated over and over.

local C = require("core.native")
local ffi = require("ffi")
local failure = require("core.failure")
local packet = require("core.packet")
local results = require("core.engine.results")
local measure = require("program.snabbmark.measure")

local M = {}

local ETHERNET_HEADER, IPV6_HEADER = 14, 40
local NEXT_HEADER_IPV6 = 41
local KEY = ("00112233445566778899AABBCCDDEEFF"):rep(2)

local function plain_packet(size, mode)
  local datagram = require("lib.protocol.datagram"):new(packet.allocate())
  local ip = require("lib.protocol.ipv6"):new({})
  local length = size - ETHERNET_HEADER - IPV6_HEADER
  ip:payload_length(length)
  datagram:payload(ffi.new("uint8_t[?]", length), length)
  datagram:push(ip)
  if mode == "transport" then
    datagram:push(require("lib.protocol.ethernet"):new({type = 0x86dd}))
  end
  return datagram:packet()
end

local function check(mode, direction)
  if mode ~= "transport" and mode ~= "tunnel" then
    failure.usage("'%s' isn't a mode of ESP: transport or tunnel", mode)
  elseif direction ~= "encapsulate" and direction ~= "decapsulate" then
    failure.usage("'%s' isn't a direction: encapsulate or decapsulate", direction)
  end
end

local function seal(encrypt, mode, p)
  if mode == "tunnel" then return encrypt:encapsulate_tunnel(p, NEXT_HEADER_IPV6) end
  return encrypt:encapsulate_transport6(p)
end

local function unseal(decrypt, mode, p)
  if mode == "tunnel" then return (decrypt:decapsulate_tunnel(p)) end
  return decrypt:decapsulate_transport6(p)
end

local function encapsulate(encrypt, mode, plain, count)
  for _ = 1, count do packet.free(seal(encrypt, mode, packet.clone(plain))) end
end

-- The same packet again and again is a replay: the window is to forget it.
local function decapsulate(decrypt, mode, sealed, count)
  for _ = 1, count do
    packet.free(unseal(decrypt, mode, packet.clone(sealed)))
    decrypt.seq.no = 0
    decrypt.window[0] = 0
  end
end

--- Move `packets` packets of `size` bytes; see the usage.
function M.run(packets, size, mode, direction, aead)
  mode, direction = mode or "transport", direction or "decapsulate"
  check(mode, direction)
  local count = measure.whole(packets, "packets")
  size = measure.whole(size, "bytes", ETHERNET_HEADER + IPV6_HEADER + 1,
    packet.max_payload)
  local esp = measure.need("lib.ipsec.esp", "snabbmark esp")
  local settings = {spi = 0, aead = aead or "aes-gcm-16-icv", key = KEY,
                    salt = "00112233", fresh_key = true}
  local encrypt, decrypt = esp.encrypt:new(settings), esp.decrypt:new(settings)
  local plain = plain_packet(size, mode)
  local sealed = seal(encrypt, mode, packet.clone(plain))
  if not sealed then
    failure.usage("'%d' is too many bytes: ESP adds some, and a packet holds up to %d",
      size, packet.max_payload)
  end
  local label, before
  if direction == "encapsulate" then
    label, before = "Encapsulation", C.pg_cpu_seconds()
    encapsulate(encrypt, mode, plain, count)
  else
    label, before = "Decapsulation", C.pg_cpu_seconds()
    decapsulate(decrypt, mode, sealed, count)
  end
  local seconds = C.pg_cpu_seconds() - before
  results.add(label, 8 * size * count / seconds)
  print(("%s (packet size = %d): %.2f Gbit/s"):format(label, size,
    8 * size * count / seconds / 2 ^ 30))
end

return M
