-- SPDX-License-Identifier: Apache-2.0
-- Router solicitation of IPv6 neighbour discovery, after its ICMPv6 header.
return {
  name = "rs", title = "Router solicitation", source = "RFC 4861, section 4.1",
  over = {icmp6 = 133},
  next = "ndopt",
  fields = {
    {"Reserved", 32},
  },
}
