-- SPDX-License-Identifier: Apache-2.0
-- VXLAN, RFC 7348, section 5; port 8472 is what Linux used before 4789 was assigned.

return {
  name = "vxlan", title = "VXLAN", source = "RFC 7348, section 5",
  over = {udp = {4789, 8472}},
  next = "eth",
  fields = {
    {"Flags", 8, default = 0x08},
    {"Reserved", 24},
    {"VNI", 24},
    {"Reserved2", 8},
  },
}
