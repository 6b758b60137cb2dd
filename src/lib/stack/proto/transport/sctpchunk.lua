-- SPDX-License-Identifier: Apache-2.0
-- One chunk of SCTP; others follow it, each at a multiple of 4 bytes. Length leaves out
-- the padding, which is a part of the member `value` (or of `parameters`).
local ffi = require("ffi")

local LENGTH = 2 -- offset in bytes

-- A variable member behind `fixed` bytes of header.
local function rest(name, fixed)
  return {name, pad = 4, size = function (header, left)
    local bytes = ffi.cast("const uint8_t *", header)
    local length = bytes[LENGTH] * 256 + bytes[LENGTH + 1]
    local padded = bit.band(length + 3, -4)
    -- The last one's padding may be missing.
    if padded > left and length <= left then padded = left end
    return padded - fixed
  end}
end

local LENGTH_FIELD = {"Length", 16, length = "header"}

local function setup(type)
  return {
    when = {Type = type}, variable = rest("parameters", 20),
    fields = {
      {"Type", 8, default = type},
      {"Flags", 8},
      LENGTH_FIELD,
      {"InitiateTag", 32, default = 1},
      {"Window", 32, default = 65535},
      {"OutboundStreams", 16, default = 1},
      {"InboundStreams", 16, default = 1},
      {"InitialTSN", 32},
    },
  }
end

return {
  name = "sctpchunk", title = "SCTP chunk", source = "RFC 9260, section 3.2 and 3.3",
  next = "sctpchunk",
  variable = rest("value", 4),
  check = function (header)
    if header:getLength() < 4 then return "its Length is less than its header has" end
  end,
  fields = {
    {"Type", 8, default = 4, values = {
      [0] = "DATA", "INIT", "INIT ACK", "SACK", "HEARTBEAT", "HEARTBEAT ACK", "ABORT",
      "SHUTDOWN", "SHUTDOWN ACK", "ERROR", "COOKIE ECHO", "COOKIE ACK",
      [14] = "SHUTDOWN COMPLETE",
    }},
    {"Flags", 8},
    LENGTH_FIELD,
  },
  subtypes = {
    data = {
      when = {Type = 0}, variable = rest("value", 16),
      fields = {
        {"Type", 8},
        {"Reserved", 4},
        {"Immediate", 1, "flag"},
        {"Unordered", 1, "flag"},
        {"Beginning", 1, "flag", default = true},
        {"Ending", 1, "flag", default = true},
        LENGTH_FIELD,
        {"TSN", 32},
        {"StreamID", 16},
        {"StreamSequence", 16},
        {"ProtocolID", 32},
      },
    },
    init = setup(1),
    initack = setup(2),
    sack = {
      when = {Type = 3}, variable = rest("blocks", 16),
      fields = {
        {"Type", 8, default = 3},
        {"Flags", 8},
        LENGTH_FIELD,
        {"CumulativeTSN", 32},
        {"Window", 32, default = 65535},
        {"GapCount", 16},
        {"DuplicateCount", 16},
      },
    },
  },
}
