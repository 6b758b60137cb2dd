-- SPDX-License-Identifier: Apache-2.0
-- One VLAN tag as a header of its own, for stacks of more tags than "qinq" has. Its
-- Type says what follows; the tag's TPID is the Type of the header below.
return {
  name = "vlan", title = "VLAN", source = "IEEE 802.1Q, clause 9",
  over = {eth = {0x8100, 0x88a8, 0x9100}},
  next = {field = "Type", as = "eth"},
  fields = {
    {"Tci", 16, at = "Pcp"},
    {"Pcp", 3},
    {"Dei", 1, "flag"},
    {"VlanTag", 12, label = "Vlan", default = 1},
    {"Type", 16, default = 0x0800},
  },
}
