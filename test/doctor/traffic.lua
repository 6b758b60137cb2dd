-- SPDX-License-Identifier: Apache-2.0
-- Frames for the graphs that doctor looks at: many kinds after each other, some of them
-- broken, so that the apps they come to take all their ways.

local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local packet = require("core.packet")

local traffic = {}

local COUNT = 1000 -- frames, which come again and again
local UDP, TCP, ICMP, ICMP6 = 17, 6, 1, 58 -- protocols
traffic.MAC = "\2\0\0\0\0\2" -- the frames' destination, with 10.0.0.9 and fd00::9
local SOURCE_MAC = "\2\0\0\0\0\1"
local IPV4, IPV6, ARP, VLAN = "\8\0", "\134\221", "\8\6", "\129\0"
local FD00 = "\253" .. ("\0"):rep(14) -- and a byte
traffic.IP4, traffic.IP6 = "\10\0\0\9", FD00 .. "\9"

local function be16(n) return string.char(math.floor(n / 256) % 256, n % 256) end

local function sum(bytes)
  return be16(C.pg_checksum(ffi.cast("const uint8_t *", bytes), #bytes, 0))
end

local function every(i, n, yes, no)
  if i % n == 0 then return yes end
  return no
end

local function ethernet(ethertype, payload)
  return traffic.MAC .. SOURCE_MAC .. ethertype .. payload
end

-- To 10.N.0.x: with options, at the end of its life, a part, with a bad checksum: each
-- now and then.
local function ip4(i, protocol, payload)
  local options = every(i, 29, "\1\1\1\0", "")
  local head = string.char(0x45 + #options / 4) .. "\0"
    .. be16(20 + #options + #payload) .. be16(i) .. every(i, 31, "\32\0", "\0\0")
    .. string.char(every(i, 13, 1, 64), protocol)
  local is_ours = protocol == ICMP or i % 5 == 0
  local addresses = string.char(every(i, 11, 11, 10), 1, 0, i % 256)
    .. (is_ours and traffic.IP4 or string.char(10, i % 4, 0, i % 200))
  local checksum = sum(head .. addresses .. options)
  return head .. every(i, 23, "\0\0", checksum) .. addresses .. options .. payload
end

local function ip6_addresses(i)
  return FD00 .. string.char(100 + i % 100) .. FD00
    .. string.char(every(i, 2, 9, i % 50))
end

local function ip6(i, next_header, payload, hop_limit)
  return "\96\0\0\0" .. be16(#payload)
    .. string.char(next_header, hop_limit or every(i, 13, 1, 64))
    .. ip6_addresses(i) .. payload
end

local function udp(i, size)
  return be16(1024 + i % 99) .. be16(53) .. be16(8 + size) .. "\0\0" .. ("u"):rep(size)
end

local function icmp6(i, head, rest)
  local pseudo = ip6_addresses(i) .. be16(0) .. be16(4 + #rest) .. "\0\0\0" .. "\58"
  return head .. sum(pseudo .. head .. "\0\0" .. rest) .. rest
end

local kinds = {
  function (i, size) return ethernet(IPV4, ip4(i, UDP, udp(i, size))) end,
  function (i, size) return ethernet(IPV6, ip6(i, UDP, udp(i, size))) end,
  function (i)
    return ethernet(IPV4, ip4(i, TCP, be16(1024 + i % 99) .. be16(80)
      .. ("\0"):rep(8) .. "\80\2\1\0\0\0\0\0"))
  end,
  function (i, size)
    local rest = be16(i) .. ("i"):rep(size)
    return ethernet(IPV4, ip4(i, ICMP, "\8\0" .. sum("\8\0\0\0" .. rest) .. rest))
  end,
  function (i, size)
    return ethernet(IPV6, ip6(i, ICMP6, icmp6(i, "\128\0", be16(i) .. ("i"):rep(size))))
  end,
  function (i, size)
    return ethernet(VLAN, "\0" .. string.char(i % 8) .. IPV4
      .. ip4(i, UDP, udp(i, size)))
  end,
  function (i) return ethernet(IPV4, ip4(i, UDP, udp(i, i % 40))) end,
  function (i) return ("s"):rep(i % 40) end,
  function (i, size) return ethernet(every(i, 5, "\8\7", "\0\46"), ("o"):rep(size)) end,
}

-- Requests for addresses, ours and others.
local requests = {
  function (i)
    return ethernet(ARP, "\0\1\8\0\6\4\0\1" .. SOURCE_MAC .. "\10\1\0\1\0\0\0\0\0\0"
      .. every(i, 3, traffic.IP4, "\10\0\0\7") .. ("\0"):rep(18))
  end,
  function (i)
    return ethernet(IPV6, ip6(i, ICMP6, icmp6(i, "\135\0", ("\0"):rep(4)
      .. every(i, 3, traffic.IP6, FD00 .. "\8") .. "\1\1" .. SOURCE_MAC), 255))
  end,
}

--- A frame, of a kind and size by the number `i`.
function traffic.mixed_frame(i)
  return kinds[i % #kinds + 1](i, i * 37 % 1450)
end

--- A frame with a UDP packet to 10.0.0.9 and the port.
function traffic.udp4(i, port, payload)
  local head = be16(1024 + i) .. be16(port) .. be16(8 + #payload) .. "\0\0"
  return ethernet(IPV4, ip4(i - i % 5, UDP, head .. payload))
end

--- A list of frames (bytes); `with_requests`: one in 50 is ARP or neighbour discovery.
function traffic.mixed(with_requests)
  local frames = {}
  for i = 1, COUNT do
    local is_request = with_requests and i % 50 == 0
    frames[i] = is_request and requests[i / 50 % 2 + 1](i) or traffic.mixed_frame(i)
  end
  return frames
end

local Frames = {}
Frames.__index = Frames
traffic.Frames = Frames

--- An app that sends the frames of a list in turn, for ever; without, mixed() ones.
function Frames:new(list)
  local packets = {}
  for i, bytes in ipairs(list or traffic.mixed()) do
    packets[i] = packet.from_string(bytes)
  end
  return setmetatable({packets = packets, at = 0}, self)
end

local function emit(output, packets, at, n)
  for _ = 1, n do
    at = at < #packets and at + 1 or 1
    link.transmit(output, packet.clone(packets[at]))
  end
  return at
end

function Frames:pull()
  local output = self.output.output
  self.at = emit(output, self.packets, self.at, math.min(100, link.nwritable(output)))
end

local Once = {}
Once.__index = Once
traffic.Once = Once

--- An app that sends a few packets, once.
function Once:new() return setmetatable({left = 5}, Once) end

function Once:pull()
  for _ = 1, self.left do
    link.transmit(self.output.output, packet.from_string(("x"):rep(60)))
  end
  self.left = 0
end

return traffic
