-- SPDX-License-Identifier: Apache-2.0
-- Identifier and sequence number of an ICMP or ICMPv6 echo request or reply.
return {
  name = "echo", title = "Echo", source = "RFC 792, page 14; RFC 4443, section 4.1",
  over = {icmp = {8, 0}, icmp6 = {128, 129}},
  fields = {
    {"Id", 16},
    {"Sequence", 16},
  },
}
