-- SPDX-License-Identifier: Apache-2.0
-- SNAP: behind the organization's identifier 0 is an EtherType, RFC 1042.
return {
  name = "snap", title = "SNAP", source = "IEEE 802-2014, clause 9.2.4; RFC 1042",
  over = {llc = 0xaa},
  below = {llc = {SSAP = 0xaa}},
  next = {field = "Type", as = "eth", when = {OUI = 0}},
  fields = {
    {"OUI", 24},
    {"Type", 16, default = 0x0800},
  },
}
