-- SPDX-License-Identifier: Apache-2.0
-- Checksums of TCP, UDP and ICMP: over a pseudo header, the header with its own
-- checksum zero, and what follows.

local ffi = require("ffi")
local check = require("lib.protocol.check")
local htons = require("core.lib").htons
local ipsum = require("lib.checksum").ipsum

local bnot = bit.bnot
local bytes_t = ffi.typeof("uint8_t *")

local transport = {}

--- The checksum (host order) for the header `proto` of the IP protocol `number` before
--- `length` bytes at `payload`, with the pseudo header of `ip` unless that is nil. The
--- header's own checksum is left as it is.
function transport.sum(proto, number, payload, length, ip)
  if type(payload) ~= "cdata" or tonumber(payload) or type(length) ~= "number" then
    check.payload("checksum", payload, length)
  end
  local h, size = proto:header(), proto:sizeof()
  local csum = 0
  if ip then
    local ph = ip:pseudo_header(length + size, number)
    csum = ipsum(ffi.cast(bytes_t, ph), ffi.sizeof(ph), 0)
  end
  local old = h.checksum
  h.checksum = 0
  csum = ipsum(ffi.cast(bytes_t, proto:header_ptr()), size, bnot(csum))
  h.checksum = old
  return (ipsum(payload, length, bnot(csum)))
end

--- The same, set in the header.
function transport.set(proto, number, payload, length, ip)
  proto:header().checksum = htons(transport.sum(proto, number, payload, length, ip))
end

return transport
