-- SPDX-License-Identifier: Apache-2.0
-- Are those TCP and UDP headers (RFC 9293, RFC 768)? Behind CheckIPHeader.

local bit = require("bit")
local C = require("core.declare")("net/checksum/checksum.h")
local checks = require("click.net.checks")
local ip_header = require("click.net.ip_header")
local read16 = require("net.wire.bytes").read16

local band, lshift = bit.band, bit.lshift
local MINIMAL, PROTOCOL = 20, 9
local TCP, UDP, TCP_HEADER, UDP_HEADER = 6, 17, 20, 8
local TCP_OFFSET, UDP_LENGTH, UDP_SUM = 12, 4, 6 -- offsets of fields

local ARGUMENTS = {
  {"CHECKSUM", "bool", default = true, keyword = true}, unpack(checks.arguments),
}

local NOT_IT, BAD_LENGTH, BAD_CHECKSUM = 1, 2, 3

local function define(name, what, examine)
  return checks.define({
    name = name, summary = ("checks %s header on %s/IP packets"):format(what, what),
    arguments = ARGUMENTS,
    drops = {"not " .. what, "bad packet length", ("bad %s checksum"):format(what)},
    complaint = "%s: " .. what .. " header check failed: %s",
    configure = function (self, a)
      checks.configure(self, a)
      self.sum = a.CHECKSUM
    end,
  }, examine)
end

-- The IP header with such a protocol, how long it is, and the bytes from it on to the
-- packet's end; or nil.
local function find(p, protocol)
  local ip, available = ip_header.begin(p)
  if not ip or ip[PROTOCOL] ~= protocol then return nil end
  return ip, lshift(band(ip[0], 15), 2), available
end

local function examine_tcp(p, sum)
  local ip, header, available = find(p, TCP)
  if not ip then return NOT_IT end
  local total = read16(ip + 2)
  if total > available or header < MINIMAL or total - header < TCP_HEADER then
    return BAD_LENGTH
  end
  local size = lshift(bit.rshift(ip[header + TCP_OFFSET], 4), 2)
  if size < TCP_HEADER or total - header < size then return BAD_LENGTH end
  if sum and C.pg_ip4_l4_checksum(ip, ip + header, total - header) ~= 0 then
    return BAD_CHECKSUM
  end
end

local function examine_udp(p, sum)
  local ip, header, available = find(p, UDP)
  if not ip then return NOT_IT end
  if header < MINIMAL or header + UDP_HEADER > available then return BAD_LENGTH end
  local udp = ip + header
  local size = read16(udp + UDP_LENGTH)
  if size < UDP_HEADER or header + size > available then return BAD_LENGTH end
  if sum and read16(udp + UDP_SUM) ~= 0
    and C.pg_ip4_l4_checksum(ip, udp, size) ~= 0 then
    return BAD_CHECKSUM
  end
end

return {
  define("CheckTCPHeader", "TCP", examine_tcp),
  define("CheckUDPHeader", "UDP", examine_udp),
}
