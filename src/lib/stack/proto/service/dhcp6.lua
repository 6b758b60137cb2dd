-- SPDX-License-Identifier: Apache-2.0
-- DHCPv6: a message between client and server; "relay" is one between relay and server.
-- `options` are all that follows.
local KINDS = {
  "solicit", "advertise", "request", "confirm", "renew", "rebind", "reply", "release",
  "decline", "reconfigure", "information request", "relay forward", "relay reply",
}

return {
  name = "dhcp6", title = "DHCPv6", source = "RFC 8415, sections 8 and 9",
  over = {udp = {547, 546}},
  fields = {
    {"MessageType", 8, default = 1, values = KINDS},
    {"TransactionID", 24},
  },
  variable = {"options", size = "rest"},
  subtypes = {
    relay = {
      when = {MessageType = {12, 13}},
      fields = {
        {"MessageType", 8, default = 12, values = KINDS},
        {"HopCount", 8},
        {"LinkAddress", 128, "ip6", default = "::"},
        {"PeerAddress", 128, "ip6", default = "fe80::1"},
      },
    },
  },
}
