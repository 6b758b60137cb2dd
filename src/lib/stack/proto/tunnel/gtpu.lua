-- SPDX-License-Identifier: Apache-2.0
-- GTP-U version 1, 3GPP TS 29.281, section 5.1. If one of the three flags is set all of
-- the optional word is there: sequence number (16 bits), N-PDU number (8), type of the
-- next extension header (8). Extension headers, section 5.2, follow it; the variable
-- member `options` is the word and they. Messages of type 255 carry an IP packet.

local ffi = require("ffi")

local BYTES = ffi.typeof("const uint8_t *")
local FIXED_SIZE = 8
local OPTION_FLAGS = 0x07
local G_PDU = 255

local function options_size(header, left)
  local bytes = ffi.cast(BYTES, header)
  if bit.band(bytes[0], OPTION_FLAGS) == 0 then return 0 end
  local size = FIXED_SIZE + 4
  while size < left and bytes[size - 1] ~= 0 do
    if bytes[size] == 0 then break end
    size = size + bytes[size] * 4 -- the last byte of each names the next
  end
  return size - FIXED_SIZE
end

local function next_header(header, left)
  local at = FIXED_SIZE + options_size(header, left)
  if header:getMessageType() ~= G_PDU or at >= left then return nil end
  local version = bit.rshift(ffi.cast(BYTES, header)[at], 4)
  return version == 4 and "ip4" or version == 6 and "ip6" or nil
end

return {
  name = "gtpu", title = "GTP-U", source = "3GPP TS 29.281, section 5.1",
  over = {udp = 2152},
  next = next_header,
  fields = {
    {"Version", 3, default = 1},
    {"ProtocolType", 1, default = 1},
    {"Reserved", 1},
    {"Extension", 1, "flag"},
    {"Sequence", 1, "flag"},
    {"NPdu", 1, "flag"},
    {"MessageType", 8, default = G_PDU},
    {"Length", 16, length = "all", bias = -FIXED_SIZE},
    {"TEID", 32},
  },
  variable = {"options", size = options_size}, pad = 4,
}
