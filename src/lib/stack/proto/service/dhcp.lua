-- SPDX-License-Identifier: Apache-2.0
-- DHCP, RFC 2131, section 2, with the magic cookie of RFC 2132, section 2, before the
-- options. Chaddr's 16 bytes are an Ethernet address and padding.

return {
  name = "dhcp", title = "DHCP", source = "RFC 2131, section 2",
  over = {udp = {67, 68}},
  fields = {
    {"Op", 8, default = 1, values = {"request", "reply"}},
    {"HardwareType", 8, default = 1},
    {"HardwareLength", 8, default = 6},
    {"Hops", 8},
    {"TransactionID", 32},
    {"Seconds", 16},
    {"Broadcast", 1, "flag"},
    {"Reserved", 15},
    {"ClientIP", 32, "ip4"},
    {"YourIP", 32, "ip4"},
    {"ServerIP", 32, "ip4"},
    {"RelayIP", 32, "ip4"},
    {"ClientMac", 48, "mac"},
    {"ClientPadding", 80, "bytes"},
    {"ServerName", 512, "bytes"},
    {"File", 1024, "bytes"},
    {"Cookie", 32, default = 0x63825363},
  },
  variable = {"options", size = "rest"},
  check = function (header)
    if header:getCookie() ~= 0x63825363 then return "its magic cookie is wrong" end
  end,
}
