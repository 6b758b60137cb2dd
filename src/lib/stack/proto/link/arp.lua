-- SPDX-License-Identifier: Apache-2.0
-- ARP for IPv4 over Ethernet, RFC 826.
return {
  name = "arp", title = "ARP", source = "RFC 826",
  over = {eth = 0x0806},
  when = {HardwareAddressLength = 6, ProtoAddressLength = 4},
  fields = {
    {"HardwareAddressType", 16, default = 1},
    {"ProtoAddressType", 16, default = 0x0800},
    {"HardwareAddressLength", 8, default = 6},
    {"ProtoAddressLength", 8, default = 4},
    {"Operation", 16, default = 1, values = {
      "request", "reply", "request reverse", "reply reverse",
    }},
    {"HardwareSrc", 48, "mac", default = "02:00:00:00:00:01"},
    {"ProtoSrc", 32, "ip4", default = "192.168.1.1"},
    {"HardwareDst", 48, "mac", default = "00:00:00:00:00:00"},
    {"ProtoDst", 32, "ip4", default = "192.168.1.2"},
  },
}
