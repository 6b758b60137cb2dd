-- SPDX-License-Identifier: Apache-2.0
-- The header common to all PTP messages, version 2: IEEE 1588.
return {
  name = "ptp", title = "PTP", source = "IEEE 1588-2008, clause 13.3",
  over = {eth = 0x88f7, udp = {319, 320}},
  fields = {
    {"TransportSpecific", 4},
    {"MessageType", 4, values = {
      [0] = "sync", [1] = "delay request", [2] = "peer delay request",
      [3] = "peer delay response", [8] = "follow up", [9] = "delay response",
      [10] = "peer delay response follow up", [11] = "announce", [12] = "signaling",
      [13] = "management",
    }},
    {"Reserved0", 4},
    {"Version", 4, default = 2},
    {"Length", 16, length = "all"},
    {"Domain", 8},
    {"Reserved", 8},
    {"Flags", 16},
    {"Correction", 64, signed = true},
    {"Reserved2", 32},
    {"Oui", 24},
    {"Uuid", 40},
    {"NodePort", 16, default = 1},
    {"SequenceID", 16},
    {"Control", 8},
    {"LogMessageInterval", 8, default = 0x7f},
  },
}
