-- SPDX-License-Identifier: Apache-2.0
-- SimpleKeyedTunnel: Ethernet frames over IPv6 between two addresses, known by a cookie
-- (RFC 8159): an L2TPv3 header with session and cookie right behind IPv6's.

local ffi = require("ffi")
local arguments = require("core.lib.arguments")
local counter = require("core.counter")
local ethernet = require("lib.protocol.ethernet")
local failure = require("core.failure")
local from_hex = require("net.wire.bytes").from_hex
local ipv6 = require("lib.protocol.ipv6")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")

local band, rshift, tobit = bit.band, bit.rshift, bit.tobit
local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit

-- Places in a packet, and sizes.
local LENGTH, NEXT_HEADER, HOP_LIMIT, SOURCE, DESTINATION = 18, 20, 21, 22, 38
local SESSION, COOKIE, HEADERS = 54, 58, 66
local L2TPV3, SESSION_AND_COOKIE = 0x73, 12
local LONGEST = packet.max_payload - HEADERS

local SimpleKeyedTunnel = {
  config = {
    local_address = {required = true}, remote_address = {required = true},
    local_cookie = {required = true}, remote_cookie = {required = true},
    local_session = {}, default_gateway_MAC = {}, hop_limit = {},
  },
  shm = {
    rxerrors = {counter}, length_errors = {counter}, protocol_errors = {counter},
    cookie_errors = {counter}, remote_address_errors = {counter},
    local_address_errors = {counter}, oversize_errors = {counter},
  },
}
SimpleKeyedTunnel.__index = SimpleKeyedTunnel
SimpleKeyedTunnel.reconfig_keeps = {}

local function put_address(header, place, name, text)
  local address, problem = ipv6:pton(tostring(text))
  if not address then failure.usage("the tunnel's %s: %s", name, problem) end
  ffi.copy(header + place, address, 16)
end

-- The cookie's 8 bytes; fewer than 16 digits mean zeros behind.
local function put_cookie(memory, name, digits)
  if type(digits) ~= "string" or #digits > 16 or #digits % 2 == 1
    or digits:match("%X") then
    failure.usage("the tunnel's %s must be 8 bytes as hexadecimal digits, not '%s'",
      name, tostring(digits))
  end
  ffi.copy(memory, from_hex(digits), 8)
end

local function whole_number(name, value, most)
  return arguments.whole("the tunnel's " .. name, value, 0, most)
end

-- The bytes before each frame.
local function make_header(arg)
  local header = ffi.new("uint8_t[?]", HEADERS)
  header[12], header[13], header[14] = 0x86, 0xdd, 0x60
  header[NEXT_HEADER] = L2TPV3
  header[HOP_LIMIT] = whole_number("hop_limit", arg.hop_limit or 64, 255)
  put_address(header, SOURCE, "local_address", arg.local_address)
  put_address(header, DESTINATION, "remote_address", arg.remote_address)
  local session = whole_number("local_session", arg.local_session or 0xffffffff,
    0xffffffff)
  ffi.cast("uint32_t *", header + SESSION)[0] = lib.htonl(session)
  put_cookie(header + COOKIE, "local_cookie", arg.local_cookie)
  if arg.default_gateway_MAC then
    ffi.copy(header, ethernet:pton(arg.default_gateway_MAC), 6)
  end
  return header
end

local words_t = ffi.typeof("const uint64_t *")

--- SimpleKeyedTunnel{local_address=, remote_address=, local_cookie=, remote_cookie=,
--- ...}: the README tells.
function SimpleKeyedTunnel:new(arg)
  local header = make_header(arg)
  -- What a packet that comes in must have: source, destination, cookie.
  local expected = ffi.new("uint64_t[5]")
  ffi.copy(expected, header + DESTINATION, 16)
  ffi.copy(expected + 2, header + SOURCE, 16)
  put_cookie(ffi.cast("uint8_t *", expected + 4), "remote_cookie", arg.remote_cookie)
  return setmetatable({header = header, expected = expected}, SimpleKeyedTunnel)
end

local function encapsulate(self, input, output, n)
  local header = self.header
  for _ = 1, n do
    local p = receive(input)
    local size = p.length + SESSION_AND_COOKIE
    if size > LONGEST + SESSION_AND_COOKIE then
      counter.add(self.shm.oversize_errors)
      packet.free(p)
    else
      p = packet.prepend(p, header, HEADERS)
      local data = p.data
      data[LENGTH], data[LENGTH + 1] = rshift(size, 8), band(size, 0xff)
      transmit(output, p)
    end
  end
end

local function refuse(self, p, name)
  counter.add(self.shm[name])
  counter.add(self.shm.rxerrors)
  packet.free(p)
end

local function decapsulate(self, input, output, n)
  local expected = self.expected
  for _ = 1, n do
    local p = receive(input)
    local data = p.data
    if tobit(p.length) < HEADERS then
      refuse(self, p, "length_errors")
    elseif data[NEXT_HEADER] ~= L2TPV3 then
      refuse(self, p, "protocol_errors")
    else
      local cookie = ffi.cast(words_t, data + COOKIE)
      local addresses = ffi.cast(words_t, data + SOURCE)
      if cookie[0] ~= expected[4] then
        refuse(self, p, "cookie_errors")
      elseif addresses[0] ~= expected[0] or addresses[1] ~= expected[1] then
        refuse(self, p, "remote_address_errors")
      elseif addresses[2] ~= expected[2] or addresses[3] ~= expected[3] then
        refuse(self, p, "local_address_errors")
      else
        transmit(output, packet.shiftleft(p, HEADERS))
      end
    end
  end
end

SimpleKeyedTunnel.needs_packets = true

function SimpleKeyedTunnel:push()
  local input, output = self.input, self.output
  local frames, packets = input.decapsulated, input.encapsulated
  if frames then encapsulate(self, frames, output.encapsulated, nreadable(frames)) end
  if packets then
    decapsulate(self, packets, output.decapsulated, nreadable(packets))
  end
end

return {SimpleKeyedTunnel = SimpleKeyedTunnel}
