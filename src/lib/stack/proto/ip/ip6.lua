-- SPDX-License-Identifier: Apache-2.0
-- IPv6, RFC 8200. Next header 59: nothing follows. Its extension headers and the
-- protocols above share the table of protocol numbers with IPv4.
return {
  name = "ip6", title = "IPv6", source = "RFC 8200, section 3",
  over = {eth = 0x86dd, ip4 = 41, ppp = 0x0057, mpls = 1, nsh = 2},
  when = {Version = 6}, strict = true,
  next = {field = "NextHeader", as = "ip4"},
  fields = {
    {"Version", 4, default = 6},
    {"TrafficClass", 8},
    {"FlowLabel", 20},
    {"Length", 16, length = "payload"},
    {"NextHeader", 8, default = 59},
    {"TTL", 8, default = 64},
    {"Src", 128, "ip6", default = "fe80::1"},
    {"Dst", 128, "ip6", default = "fe80::2"},
  },
}
