-- SPDX-License-Identifier: Apache-2.0
-- ICMP, RFC 792: the part that all messages share. "echo" is the rest of an echo
-- message.
return {
  name = "icmp", title = "ICMP", source = "RFC 792",
  over = {ip4 = 1},
  instead = {ip6 = "icmp6"},
  next = {field = "Type"},
  fields = {
    {"Type", 8, default = 8, values = {
      [0] = "echo reply", [3] = "destination unreachable", [4] = "source quench",
      [5] = "redirect", [8] = "echo request", [11] = "time exceeded",
      [12] = "parameter problem", [13] = "timestamp", [14] = "timestamp reply",
    }},
    {"Code", 8},
    {"Checksum", 16, checksum = "all"},
  },
}
