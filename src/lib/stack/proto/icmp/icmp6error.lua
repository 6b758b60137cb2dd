-- SPDX-License-Identifier: Apache-2.0
-- What ICMPv6 errors have behind the part that all messages share: a word (the MTU of
-- "packet too big", the pointer of "parameter problem"), then the start of the packet
-- that caused the error.
return {
  name = "icmp6error", title = "ICMPv6 error", source = "RFC 4443, section 3",
  over = {icmp6 = {1, 2, 3, 4}},
  next = "ip6", quotes = true,
  fields = {
    {"Mtu", 32, aliases = {"Pointer"}},
  },
}
