-- SPDX-License-Identifier: Apache-2.0
-- BFD control packets, RFC 5880, section 4.1; ports of RFC 5881 (one hop) and 5883.

return {
  name = "bfd", title = "BFD", source = "RFC 5880, section 4.1",
  over = {udp = {3784, 4784}},
  fields = {
    {"Version", 3, default = 1},
    {"Diagnostic", 5},
    {"State", 2, default = 1, values = {[0] = "AdminDown", "Down", "Init", "Up"}},
    {"Poll", 1, "flag"},
    {"Final", 1, "flag"},
    {"ControlPlaneIndependent", 1, "flag"},
    {"Authentication", 1, "flag"},
    {"Demand", 1, "flag"},
    {"Multipoint", 1, "flag"},
    {"DetectMult", 8, default = 3},
    {"Length", 8, length = "header"},
    {"MyDiscriminator", 32, default = 1},
    {"YourDiscriminator", 32},
    {"DesiredMinTxInterval", 32, default = 1000000}, -- microseconds
    {"RequiredMinRxInterval", 32, default = 1000000},
    {"RequiredMinEchoRxInterval", 32},
  },
  variable = {"authSection", from = "Length"},
}
