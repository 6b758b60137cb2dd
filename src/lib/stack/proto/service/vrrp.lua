-- SPDX-License-Identifier: Apache-2.0
-- VRRP version 3, RFC 5798, over IPv4 or IPv6, whose pseudo header its checksum has;
-- "v2" is RFC 3768's, whose addresses are followed by 8 bytes of authentication data.
return {
  name = "vrrp", title = "VRRP", source = "RFC 5798, section 5; RFC 3768, section 5",
  over = {ip4 = 112},
  below = {
    ip4 = {Dst = "224.0.0.18", TTL = 255}, ip6 = {Dst = "ff02::12", TTL = 255},
  },
  fields = {
    {"Version", 4, default = 3},
    {"Type", 4, default = 1},
    {"RouterID", 8, default = 1},
    {"Priority", 8, default = 100},
    {"AddressCount", 8},
    {"Reserved", 4},
    {"Interval", 12, default = 100}, -- centiseconds
    {"Checksum", 16, checksum = "pseudo"},
  },
  variable = {"addresses", size = "rest"},
  subtypes = {
    v2 = {
      when = {Version = 2},
      fields = {
        {"Version", 4, default = 2},
        {"Type", 4, default = 1},
        {"RouterID", 8, default = 1},
        {"Priority", 8, default = 100},
        {"AddressCount", 8},
        {"AuthType", 8},
        {"Interval", 8, default = 1}, -- seconds
        {"Checksum", 16, checksum = "all"},
      },
    },
  },
}
