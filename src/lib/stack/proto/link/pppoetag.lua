-- SPDX-License-Identifier: Apache-2.0
-- One tag of a PPPoE discovery packet; others follow it.
return {
  name = "pppoetag", title = "PPPoE tag", source = "RFC 2516, appendix A",
  over = {pppoe = {0x09, 0x07, 0x19, 0x65, 0xa7}},
  below = {eth = {Type = 0x8863}, vlan = {Type = 0x8863}},
  next = "pppoetag",
  fields = {
    {"Type", 16, default = 0x0101, values = {
      [0] = "end of list", [0x0101] = "service name", [0x0102] = "AC name",
      [0x0103] = "host uniq", [0x0104] = "AC cookie", [0x0105] = "vendor specific",
      [0x0110] = "relay session ID", [0x0201] = "service name error",
      [0x0202] = "AC system error", [0x0203] = "generic error",
    }},
    {"Length", 16, length = "variable"},
  },
  variable = {"value", from = "Length"},
}
