-- SPDX-License-Identifier: Apache-2.0
-- UDP, RFC 768. A computed checksum of 0 is sent as 0xffff; 0 says there is none.
return {
  name = "udp", title = "UDP", source = "RFC 768",
  over = {ip4 = 17},
  next = {fields = {"DstPort", "SrcPort"}},
  fields = {
    {"SrcPort", 16, label = "Src", member = "src", default = 1024},
    {"DstPort", 16, label = "Dst", member = "dst", default = 1025},
    {"Length", 16, length = "all"},
    {"Checksum", 16, checksum = "pseudo", zero = 0xffff, optional = true},
  },
}
