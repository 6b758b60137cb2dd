-- SPDX-License-Identifier: Apache-2.0
-- The protocol field of PPP, as PPPoE carries it (no address, no compression).
return {
  name = "ppp", title = "PPP", source = "RFC 1661, section 2",
  over = {pppoe = 0},
  next = {field = "Protocol"},
  fields = {
    {"Protocol", 16, default = 0x0021, values = {
      [0x0021] = "IPv4", [0x0057] = "IPv6", [0x0281] = "MPLS", [0x8021] = "IPCP",
      [0x8057] = "IPV6CP", [0xc021] = "LCP", [0xc023] = "PAP", [0xc223] = "CHAP",
    }},
  },
}
