-- SPDX-License-Identifier: Apache-2.0
-- VXLAN with a field that says what follows. The flags are VNI valid and next protocol
-- present.
return {
  name = "vxlangpe", title = "VXLAN-GPE",
  source = "draft-ietf-nvo3-vxlan-gpe-13, section 3",
  over = {udp = 4790},
  next = {field = "NextProtocol",
    values = {[1] = "ip4", [2] = "ip6", [3] = "eth", [4] = "nsh"}},
  fields = {
    {"Flags", 8, default = 0x0c},
    {"Reserved", 16},
    {"NextProtocol", 8},
    {"VNI", 24},
    {"Reserved2", 8},
  },
}
