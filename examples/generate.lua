-- SPDX-License-Identifier: Apache-2.0
-- perigee run examples/generate.lua PORT [COUNT]
-- Sends COUNT packets (default 1000) to a port: UDP of 1,024 flows, in frames of
-- 60, 590 and 1514 bytes mixed 7:4:1, as in the Internet ("simple IMIX").

local ffi = require("ffi")
local failure = require("core.failure")
local lib = require("core.lib")
local port = require("apps.port.port")

local FLOWS = 1024
local SIZES = {60, 590, 60, 590, 60, 60, 1514, 60, 590, 60, 590, 60}
local ETHERNET_SIZE, IPV4_SIZE = 14, 20
local SOURCE_PORT = ETHERNET_SIZE + IPV4_SIZE -- where it stands in the frame

-- The 16 bits of `n` in network byte order.
local function u16(n)
  return string.char(math.floor(n / 256), n % 256)
end

-- An Ethernet frame of `size` bytes with an IPv4 packet (RFC 791) in it, and in
-- that a UDP datagram (RFC 768) without a checksum.
local function frame(size)
  local ip_length = size - ETHERNET_SIZE
  local udp_length = ip_length - IPV4_SIZE
  local before = "\69\0" .. u16(ip_length) .. "\0\0\64\0\64\17"
  local addresses = "\198\18\0\1\198\19\0\1" -- for benchmarks, RFC 2544
  local checksum = lib.csum(before .. "\0\0" .. addresses, IPV4_SIZE)
  return "\2\0\0\0\0\2\2\0\0\0\0\1\8\0" .. before .. u16(checksum) .. addresses
    .. u16(1024) .. u16(9) .. u16(udp_length) .. u16(0)
    .. ("\0"):rep(udp_length - 8)
end

local Generator = {}
Generator.__index = Generator

function Generator:new(count)
  local frames = {}
  for i, size in ipairs(SIZES) do frames[i] = frame(size) end
  return setmetatable({frames = frames, sent = 0, count = count}, self)
end

local function send(output, bytes, source_port)
  local p = packet.from_string(bytes)
  local field = ffi.cast("uint16_t *", p.data + SOURCE_PORT)
  field[0] = lib.htons(source_port)
  link.transmit(output, p)
end

function Generator:pull()
  local output, frames, sent = self.output.output, self.frames, self.sent
  local n = math.min(link.nwritable(output), self.count - sent)
  for i = sent, sent + n - 1 do
    send(output, frames[i % #frames + 1], 1024 + i % FLOWS)
  end
  self.sent = sent + n
end

local where, count = ...
if not where or (count and not tonumber(count)) then
  failure.usage("give a port and how many packets: generate.lua PORT [COUNT]")
end

local c = config.new()
config.app(c, "generator", Generator, tonumber(count) or 1000)
config.app(c, "port", port.Port, where)
config.link(c, "generator.output -> port.input")
engine.configure(c)
local generator = engine.app_table.generator
local wire = engine.link_table["generator.output -> port.input"]
engine.main{no_report = true, done = function ()
  return generator.sent == generator.count and link.empty(wire)
end}
print(("sent %s packets to %s"):format(lib.comma_value(generator.sent), where))
