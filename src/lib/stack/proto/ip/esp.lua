-- SPDX-License-Identifier: Apache-2.0
-- IPsec encapsulating security payload, RFC 4303; the IV of 8 bytes is that of AES-GCM
-- (RFC 4106) and AES-CTR. What follows is encrypted, so nothing is resolved.
return {
  name = "esp", title = "ESP", source = "RFC 4303, section 2; RFC 4106, section 3",
  over = {ip4 = 50},
  fields = {
    {"SPI", 32},
    {"SQN", 32},
    {"IV", 64},
  },
}
