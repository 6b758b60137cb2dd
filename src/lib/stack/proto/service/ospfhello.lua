-- SPDX-License-Identifier: Apache-2.0
-- OSPF's hello behind its header. `neighbors` are router IDs of 4 bytes.
return {
  name = "ospfhello", title = "OSPF hello", source = "RFC 2328, appendix A.3.2",
  over = {ospf = 1},
  fields = {
    {"Mask", 32, "ip4", default = "255.255.255.0"},
    {"HelloInterval", 16, default = 10}, -- seconds
    {"Options", 8, default = 2},
    {"Priority", 8, default = 1},
    {"DeadInterval", 32, default = 40}, -- seconds
    {"DesignatedRouter", 32, "ip4", default = "0.0.0.0"},
    {"BackupRouter", 32, "ip4", default = "0.0.0.0"},
  },
  variable = {"neighbors", size = "rest"},
}
