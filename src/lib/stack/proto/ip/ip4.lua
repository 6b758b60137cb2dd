-- SPDX-License-Identifier: Apache-2.0
-- IPv4, RFC 791. Protocol 253 is for experiments (RFC 3692): no header follows it.
return {
  name = "ip4", title = "IPv4", source = "RFC 791, section 3.1",
  over = {eth = 0x0800, ip4 = 4, ppp = 0x0021, mpls = 1, nsh = 1},
  when = {Version = 4}, strict = true,
  next = {field = "Protocol", when = {Fragment = 0}},
  variable = {"options", from = "HeaderLength"}, pad = 4,
  fields = {
    {"Version", 4, default = 4},
    {"HeaderLength", 4, length = "header", unit = 4},
    {"TOS", 8},
    {"Length", 16, length = "all"},
    {"ID", 16},
    {"Flags", 3, values = {"MF", "DF", "DF MF"}},
    {"Fragment", 13},
    {"TTL", 8, default = 64},
    {"Protocol", 8, default = 253},
    {"Checksum", 16, checksum = "header"},
    {"Src", 32, "ip4", default = "192.168.1.1"},
    {"Dst", 32, "ip4", default = "192.168.1.2"},
  },
}
