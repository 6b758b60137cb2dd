-- SPDX-License-Identifier: Apache-2.0
-- IGMP version 2, RFC 2236; version 3 (RFC 3376) adds to these fields.
return {
  name = "igmp", title = "IGMP", source = "RFC 2236, section 2",
  over = {ip4 = 2},
  fields = {
    {"Type", 8, default = 0x11, values = {
      [0x11] = "membership query", [0x12] = "membership report v1",
      [0x16] = "membership report v2", [0x17] = "leave group",
      [0x22] = "membership report v3",
    }},
    {"MaxRespTime", 8, default = 100},
    {"Checksum", 16, checksum = "all"},
    {"Group", 32, "ip4", default = "0.0.0.0"},
  },
}
