-- SPDX-License-Identifier: Apache-2.0
-- TCP, RFC 9293. The methods for options are in lib.stack.body.tcp_options.
return {
  name = "tcp", title = "TCP", source = "RFC 9293, section 3.1",
  over = {ip4 = 6},
  next = {fields = {"DstPort", "SrcPort"}},
  variable = {"options", from = "DataOffset"}, pad = 4,
  methods = require("lib.stack.body.tcp_options"),
  fields = {
    {"SrcPort", 16, label = "Src", member = "src", aliases = {"Src"}, default = 1024},
    {"DstPort", 16, label = "Dst", member = "dst", aliases = {"Dst"}, default = 1025},
    {"SeqNumber", 32, member = "seq"},
    {"AckNumber", 32, member = "ack"},
    {"DataOffset", 4, length = "header", unit = 4},
    {"Reserved", 4},
    {"Flags", 8, at = "Cwr"},
    {"Cwr", 1, "flag"},
    {"Ece", 1, "flag"},
    {"Urg", 1, "flag"},
    {"Ack", 1, "flag"},
    {"Psh", 1, "flag"},
    {"Rst", 1, "flag"},
    {"Syn", 1, "flag"},
    {"Fin", 1, "flag"},
    {"Window", 16, default = 65535},
    {"Checksum", 16, checksum = "pseudo"},
    {"UrgentPointer", 16, member = "urg"},
  },
}
