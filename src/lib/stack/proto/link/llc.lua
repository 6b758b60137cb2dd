-- SPDX-License-Identifier: Apache-2.0
-- LLC of IEEE 802.2, behind an Ethernet frame with a length (eth's subtype "dot3"). The
-- control field has a second byte but in unnumbered frames, those that end in bits 11.
local ffi = require("ffi")

local CONTROL = 2 -- offset in bytes

return {
  name = "llc", title = "LLC", source = "IEEE 802.2-1998, clause 3",
  next = {field = "DSAP"},
  fields = {
    {"DSAP", 8, default = 0xfe},
    {"SSAP", 8, default = 0xfe},
    {"Control", 8, default = 3},
  },
  variable = {"control2", size = function (header)
    local control = ffi.cast("const uint8_t *", header)[CONTROL]
    return bit.band(control, 3) == 3 and 0 or 1
  end},
}
