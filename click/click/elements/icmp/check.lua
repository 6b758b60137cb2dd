-- SPDX-License-Identifier: Apache-2.0
-- CheckICMPHeader: is that an ICMP message (RFC 792)?

local C = require("core.declare")("net/checksum/checksum.h")
local checks = require("click.net.checks")
local ip_header = require("click.net.ip_header")
local note = require("click.note")

local TRANSPORT, PROTOCOL, ICMP = note.TRANSPORT_HEADER, 9, 1
local HEADER = 8 -- bytes

-- Bytes that messages of a type have at least, and at most if that is said.
local QUOTING = {HEADER + 28} -- an IP header, and 8 bytes of what is behind it
local SIZES = {
  [3] = QUOTING, [4] = QUOTING, [5] = QUOTING, [11] = QUOTING, [12] = QUOTING,
  [13] = {20, 20}, [14] = {20, 20}, [15] = {HEADER, HEADER}, [16] = {HEADER, HEADER},
}

local NOT_ICMP, BAD_LENGTH, BAD_CHECKSUM = 1, 2, 3

local function examine(p)
  local ip = ip_header.begin(p)
  if not ip or ip[PROTOCOL] ~= ICMP then return NOT_ICMP end
  local message = p.note16[TRANSPORT]
  local length = p.data_off + p.length - message
  if length < HEADER then return BAD_LENGTH end
  local size = SIZES[p.buf_addr[message]]
  if size and (length < size[1] or size[2] and length > size[2]) then
    return BAD_LENGTH
  end
  if C.pg_checksum_word(p.buf_addr + message, length) ~= 0 then return BAD_CHECKSUM end
end

local CheckICMPHeader = checks.define({
  name = "CheckICMPHeader", summary = "checks ICMP header on ICMP packets",
  arguments = checks.arguments,
  drops = {"not ICMP", "bad packet length", "bad ICMP checksum"},
  complaint = "%s: ICMP header check failed: %s",
}, examine)

return {CheckICMPHeader}
