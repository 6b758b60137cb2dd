-- SPDX-License-Identifier: Apache-2.0
-- IPFIX message header, RFC 7011, section 3.1. lib.stack.body.ipfix makes the sets.

return {
  name = "ipfix", title = "IPFIX", source = "RFC 7011, section 3.1",
  over = {udp = 4739},
  fields = {
    {"Version", 16, default = 10},
    {"Length", 16, length = "all"},
    {"ExportTime", 32},
    {"Seq", 32},
    {"ObservationDomain", 32},
  },
}
