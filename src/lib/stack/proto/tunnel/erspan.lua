-- SPDX-License-Identifier: Apache-2.0
-- ERSPAN type II, behind a GRE header with a sequence number: {"gre", with =
-- {"Sequence"}}.
return {
  name = "erspan", title = "ERSPAN II",
  source = "draft-foschiano-erspan-03, section 4.2",
  over = {eth = 0x88be},
  when = {Version = 1},
  next = "eth",
  fields = {
    {"Version", 4, default = 1},
    {"VlanTag", 12, label = "Vlan"},
    {"ClassOfService", 3},
    {"Encapsulation", 2, default = 3},
    {"Truncated", 1, "flag"},
    {"SessionID", 10},
    {"Reserved", 12},
    {"Index", 20},
  },
}
