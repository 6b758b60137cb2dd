-- SPDX-License-Identifier: Apache-2.0
-- ICMP redirect behind the part that all messages share: the better gateway, then the
-- start of the packet that was sent to the wrong one.
return {
  name = "icmpredirect", title = "ICMP redirect", source = "RFC 792, page 12",
  over = {icmp = 5},
  next = "ip4", quotes = true,
  fields = {
    {"Gateway", 32, "ip4", default = "192.168.1.1"},
  },
}
