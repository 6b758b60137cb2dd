-- SPDX-License-Identifier: Apache-2.0
-- PPP over Ethernet, RFC 2516: a session's header (code 0), or a discovery packet's.
return {
  name = "pppoe", title = "PPPoE", source = "RFC 2516, section 4",
  over = {eth = {0x8864, 0x8863}},
  next = {field = "Code"},
  fields = {
    {"Version", 4, default = 1},
    {"Type", 4, default = 1},
    {"Code", 8, values = {
      [0] = "session", [0x07] = "PADO", [0x09] = "PADI", [0x19] = "PADR",
      [0x65] = "PADS", [0xa7] = "PADT",
    }},
    {"SessionID", 16},
    {"Length", 16, length = "payload"},
  },
}
