-- SPDX-License-Identifier: Apache-2.0
-- The format of configurations, as `nfv traffic --long-help` prints it.

return [[
CONFIG is a Lua file that returns a list of ports:

  return {
    { port_id         = "A",                  -- letters, digits, _ and -
      mac_address     = "52:54:00:00:00:01",  -- of the guest; none: it is learned
      vlan            = 42,                   -- 0 or none: untagged
      ingress_filter  = "arp or icmp6 or tcp dst port 22", -- pcap-filter(7): what may
      egress_filter   = "ip or ip6 or arp",                -- go to, come from the guest
      stateful_filter = true,                 -- connections once accepted may go on
      rx_police       = 1,                    -- Gbit/s to the guest
      tx_police       = 0.5,                  -- Gbit/s from the guest
      queues          = 2,                    -- pairs that the guest may use, up to 16
      tunnel          = { type = "L2TPv3",    -- Ethernet over IPv6 (RFC 8159)
                          local_ip = "2001:db8::1", remote_ip = "2001:db8::2",
                          next_hop = "2001:db8::3", session = 16,
                          local_cookie = "0011223344556677",
                          remote_cookie = "8899aabbccddeeff" },
      crypto          = { type = "esp-aes-128-gcm", spi = 0x42,
                          transmit_key = "32 hexadecimal digits", transmit_salt = "8",
                          receive_key = "32 hexadecimal digits", receive_salt = "8",
                          auditing = true }, -- log packets that are refused
    },
  }]]
