-- SPDX-License-Identifier: Apache-2.0
-- NTP, the fields of versions 3 and 4. Delays and times are fixed-point numbers of
-- seconds: half of the bits are its fraction. Extensions and a MAC may follow.
return {
  name = "ntp", title = "NTP", source = "RFC 5905, section 7.3",
  over = {udp = 123},
  fields = {
    {"Leap", 2},
    {"Version", 3, default = 4},
    {"Mode", 3, default = 3, values = {
      "symmetric active", "symmetric passive", "client", "server", "broadcast",
      "control", "private",
    }},
    {"Stratum", 8},
    {"Poll", 8, signed = true},      -- log2 of seconds
    {"Precision", 8, signed = true}, -- log2 of seconds
    {"RootDelay", 32},
    {"RootDispersion", 32},
    {"ReferenceID", 32},
    {"ReferenceTime", 64},
    {"OriginTime", 64},
    {"ReceiveTime", 64},
    {"TransmitTime", 64},
  },
}
