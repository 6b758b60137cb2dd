-- SPDX-License-Identifier: Apache-2.0
-- CheckICMPHeader: is that an ICMP message (RFC 792)?

local C = require("core.declare")("net/checksum/checksum.h")
local checks = require("click.net.checks")
local element = require("click.element")
local note = require("click.note")

local NETWORK, TRANSPORT = note.NETWORK_HEADER, note.TRANSPORT_HEADER
local MINIMAL, PROTOCOL, ICMP = 20, 9, 1
local HEADER = 8 -- bytes

-- Bytes that messages of a type have at least, and at most if that is said.
local QUOTING = {HEADER + 28} -- an IP header, and 8 bytes of what is behind it
local SIZES = {
  [3] = QUOTING, [4] = QUOTING, [5] = QUOTING, [11] = QUOTING, [12] = QUOTING,
  [13] = {20, 20}, [14] = {20, 20}, [15] = {HEADER, HEADER}, [16] = {HEADER, HEADER},
}

local CheckICMPHeader = element.define{
  name = "CheckICMPHeader", summary = "checks ICMP header on ICMP packets",
  division = "any",
  ports = "1/1-2", processing = "a/ah", arguments = checks.arguments,
  drops = {"not ICMP", "bad packet length", "bad ICMP checksum"},
  complaint = "%s: ICMP header check failed: %s",
}
checks.attach(CheckICMPHeader)
local NOT_ICMP, BAD_LENGTH, BAD_CHECKSUM = 1, 2, 3

CheckICMPHeader.configure = checks.configure

local function examine(p)
  local at, limit = p.note16[NETWORK], p.data_off + p.length
  if at == 0 or at + MINIMAL > limit or p.buf_addr[at + PROTOCOL] ~= ICMP then
    return NOT_ICMP
  end
  local message = p.note16[TRANSPORT]
  local length = limit - message
  if length < HEADER then return BAD_LENGTH end
  local size = SIZES[p.buf_addr[message]]
  if size and (length < size[1] or size[2] and length > size[2]) then
    return BAD_LENGTH
  end
  if C.pg_checksum_word(p.buf_addr + message, length) ~= 0 then return BAD_CHECKSUM end
end

function CheckICMPHeader:process(p)
  local problem = examine(p)
  if problem then
    local q, o = checks.fail(self, p, problem)
    return q, o
  end
  self.count = self.count + 1
  return p
end

return {CheckICMPHeader}
