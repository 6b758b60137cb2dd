-- SPDX-License-Identifier: Apache-2.0
-- ERSPAN type III. The last 8 bytes are there if Optional says so.
return {
  name = "erspan3", title = "ERSPAN III",
  source = "draft-foschiano-erspan-03, section 4.3",
  over = {eth = 0x22eb},
  when = {Version = 2},
  next = "eth",
  fields = {
    {"Version", 4, default = 2},
    {"VlanTag", 12, label = "Vlan"},
    {"ClassOfService", 3},
    {"Bad", 2},
    {"Truncated", 1, "flag"},
    {"SessionID", 10},
    {"Timestamp", 32},
    {"SecurityGroup", 16},
    {"EthernetFrame", 1, "flag", default = true},
    {"FrameType", 5},
    {"HardwareID", 6},
    {"Direction", 1},
    {"Granularity", 2},
    {"Optional", 1, "flag"},
    {"PlatformID", 6, when = "Optional"},
    {"PlatformInfo", 26, when = "Optional"},
    {"PlatformInfo2", 32, when = "Optional"},
  },
}
