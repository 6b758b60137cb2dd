-- SPDX-License-Identifier: Apache-2.0
-- Transport6 and Tunnel6: IPv6 packets in ESP (lib.ipsec.esp), under the names of
-- Snabb's apps.ipsec.esp. What isn't IPv6 is dropped: nothing passes in the clear.

local ffi = require("ffi")
local counter = require("core.counter")
local esp = require("lib.ipsec.esp")
local failure = require("core.failure")
local ipv6 = require("lib.protocol.ipv6")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local read16 = require("net.wire.bytes").read16

local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit
local band, rshift, tobit = bit.band, bit.rshift, bit.tobit

local ETHERNET, IP = 14, 40 -- bytes of headers
local HEADERS = ETHERNET + IP
local LENGTH, NEXT_HEADER, HOP_LIMIT, SOURCE, DESTINATION = 18, 20, 21, 22, 38
local IPV6_IN_IPV6 = 41
local LONGEST = packet.max_payload

local function class(more)
  local c = {
    config = {
      spi = {required = true}, aead = {default = "aes-gcm-16-icv"},
      transmit_key = {required = true}, transmit_salt = {required = true},
      receive_key = {required = true}, receive_salt = {required = true},
      receive_window = {}, resync_threshold = {}, resync_attempts = {}, auditing = {},
    },
    shm = {txerrors = {counter}, rxerrors = {counter}, rx_wrong_spi = {counter}},
  }
  for name, spec in pairs(more) do c.config[name] = spec end
  c.__index = c
  return c
end

-- Both ends of the arguments.
local function ends_of(arg)
  if arg.transmit_salt == arg.receive_salt and not arg.selftest then
    failure.usage("ESP: transmit_salt and receive_salt must differ, so that no "
      .. "nonce is used twice")
  end
  local ends = {
    encrypt = {aead = arg.aead, spi = arg.spi, key = arg.transmit_key,
      salt = arg.transmit_salt},
    decrypt = {aead = arg.aead, spi = arg.spi, key = arg.receive_key,
      salt = arg.receive_salt, window_size = arg.receive_window,
      resync_threshold = arg.resync_threshold, resync_attempts = arg.resync_attempts,
      auditing = arg.auditing},
  }
  return {ends = ends, encrypt = esp.encrypt:new(ends.encrypt),
          decrypt = esp.decrypt:new(ends.decrypt)}
end

-- Of an app that gets another argument: ends whose key, salt and SPI stay go on with
-- their sequence numbers. The same number twice would be the same nonce.
local function kept(fresh, running)
  local names = {}
  for name, end_point in pairs(fresh.ends) do
    if lib.equal(end_point, running.ends[name]) then names[#names + 1] = name end
  end
  return names
end

-- The payload's size, if it is a whole IPv6 packet, or -1. What Ethernet padded it with
-- comes off.
local function payload_size(p)
  local length = tobit(p.length)
  if length < HEADERS then return -1 end
  local data = p.data
  if data[12] ~= 0x86 or data[13] ~= 0xdd then return -1 end
  local size = read16(data + LENGTH)
  if size > length - HEADERS then return -1 end
  if size < length - HEADERS then packet.resize(p, HEADERS + size) end
  return size
end

local function refuse(self, p, name)
  counter.add(self.shm[name])
  packet.free(p)
end

local function seal_all(self, input, output, n)
  for _ = 1, n do
    local p = receive(input)
    local sealed = payload_size(p) >= 0 and self:seal(p)
    if sealed then
      transmit(output, sealed)
    else
      refuse(self, p, "txerrors")
    end
  end
end

local function open_all(self, input, output, n)
  for _ = 1, n do
    local p = receive(input)
    local opened = payload_size(p) >= 0 and p.data[NEXT_HEADER] == esp.PROTOCOL
      and self:open(p)
    if opened then
      transmit(output, opened)
    else
      refuse(self, p, "rxerrors")
    end
  end
  counter.set(self.shm.rx_wrong_spi, self.decrypt.wrong_spi)
end

-- The push() of both classes, which have seal(p) and open(p): the packet, or nil if it
-- is refused.
local function push(self)
  local input, output = self.input, self.output
  local plain, sealed = input.decapsulated, input.encapsulated
  if plain then seal_all(self, plain, output.encapsulated, nreadable(plain)) end
  if sealed then open_all(self, sealed, output.decapsulated, nreadable(sealed)) end
end

-- Transport mode: the IPv6 header stays ---------------------------------------------

local Transport6 = class{}
Transport6.push, Transport6.needs_packets = push, true

--- Transport6{spi=, transmit_key=, ...}: the README tells.
function Transport6:new(arg)
  return setmetatable(ends_of(arg), self)
end

Transport6.reconfig_keeps = kept

function Transport6:seal(p) return self.encrypt:encapsulate_transport6(p) end

function Transport6:open(p) return self.decrypt:decapsulate_transport6(p) end

-- Tunnel mode: IPv6 packets in IPv6 packets between two hosts ------------------------

local Tunnel6 = class{self_ip = {required = true}, nexthop_ip = {required = true},
  selftest = {default = false}}
Tunnel6.push, Tunnel6.needs_packets = push, true

local function put_address(header, place, name, text)
  local address = ipv6:pton(tostring(text))
  if not address then
    failure.usage("ESP's %s must be an IPv6 address, not '%s'", name, tostring(text))
  end
  ffi.copy(header + place, address, 16)
end

--- Tunnel6{self_ip=, nexthop_ip=, spi=, transmit_key=, ...}: the README tells.
function Tunnel6:new(arg)
  local o = setmetatable(ends_of(arg), self)
  local header = ffi.new("uint8_t[?]", HEADERS)
  header[12], header[13], header[ETHERNET] = 0x86, 0xdd, 0x60
  header[NEXT_HEADER], header[HOP_LIMIT] = esp.PROTOCOL, 64
  put_address(header, SOURCE, "self_ip", arg.self_ip)
  put_address(header, DESTINATION, "nexthop_ip", arg.nexthop_ip)
  o.header = header
  return o
end

Tunnel6.reconfig_keeps = kept

function Tunnel6:seal(p)
  if p.length > LONGEST - 2 * HEADERS then return nil end
  local sealed = self.encrypt:encapsulate_tunnel(packet.shiftleft(p, ETHERNET),
    IPV6_IN_IPV6)
  local size = tobit(sealed.length)
  sealed = packet.prepend(sealed, self.header, HEADERS)
  local data = sealed.data
  data[LENGTH], data[LENGTH + 1] = rshift(size, 8), band(size, 255)
  return sealed
end

function Tunnel6:open(p)
  local opened, next_header = self.decrypt:decapsulate_tunnel(
    packet.shiftleft(p, HEADERS))
  if next_header ~= IPV6_IN_IPV6 then return nil end
  return packet.prepend(opened, self.header, ETHERNET)
end

return {Transport6 = Transport6, Tunnel6 = Tunnel6}
