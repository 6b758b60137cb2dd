-- SPDX-License-Identifier: Apache-2.0
-- Ethernet: IEEE 802.3; with one 802.1Q tag ("vlan"), or two, 802.1ad ("qinq"); or with
-- a length for its type ("dot3"), behind which comes LLC.
local tag = {0x8100, 0x88a8, 0x9100}

return {
  name = "eth", title = "Ethernet", source = "IEEE 802.3, IEEE 802.1Q clause 9",
  over = {eth = 0x6558, mpls = 1, nsh = 3},
  next = {field = "Type"},
  fields = {
    {"Dst", 48, "mac", default = "02:00:00:00:00:02"},
    {"Src", 48, "mac", default = "02:00:00:00:00:01"},
    {"Type", 16, default = 0x0800},
  },
  order = {"qinq", "vlan", "dot3"},
  subtypes = {
    dot3 = {
      when = {Length = {least = 0, most = 1500}}, -- clause 3.2.6
      next = "llc",
      fields = {
        {"Dst", 48, "mac", default = "02:00:00:00:00:02"},
        {"Src", 48, "mac", default = "02:00:00:00:00:01"},
        {"Length", 16, length = "payload", aliases = {"Type"}},
      },
    },
    vlan = {
      when = {Tpid = tag},
      fields = {
        {"Dst", 48, "mac", default = "02:00:00:00:00:02"},
        {"Src", 48, "mac", default = "02:00:00:00:00:01"},
        {"Tpid", 16, default = 0x8100},
        {"Tci", 16, at = "Pcp"},
        {"Pcp", 3},
        {"Dei", 1, "flag"},
        {"VlanTag", 12, label = "Vlan", default = 1},
        {"Type", 16, default = 0x0800},
      },
    },
    qinq = {
      when = {OuterVlanId = {0x88a8, 0x8100, 0x9100}, InnerVlanId = 0x8100},
      fields = {
        {"Dst", 48, "mac", default = "02:00:00:00:00:02"},
        {"Src", 48, "mac", default = "02:00:00:00:00:01"},
        {"OuterVlanId", 16, label = "outerVlanId", default = 0x88a8},
        {"OuterPcp", 3},
        {"OuterDei", 1, "flag"},
        {"OuterVlanTag", 12, label = "outerVlanTag", default = 1},
        {"InnerVlanId", 16, label = "innerVlanId", default = 0x8100},
        {"InnerPcp", 3},
        {"InnerDei", 1, "flag"},
        {"InnerVlanTag", 12, label = "innerVlanTag", default = 1},
        {"Type", 16, default = 0x0800},
      },
    },
  },
}
