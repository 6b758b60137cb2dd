-- SPDX-License-Identifier: Apache-2.0
-- One label of an MPLS stack, RFC 3032. Nothing but the bottom of stack bit says what
-- follows: a label after 0; after 1 an IP header is known by its version.
return {
  name = "mpls", title = "MPLS", source = "RFC 3032, section 2.1",
  over = {eth = {0x8847, 0x8848}, ppp = 0x0281, ip4 = 137, mpls = 0, nsh = 5},
  next = {field = "BottomOfStack"},
  fields = {
    {"Label", 20, default = 16},
    {"TrafficClass", 3},
    {"BottomOfStack", 1, default = 1},
    {"TTL", 8, default = 64},
  },
}
