-- SPDX-License-Identifier: Apache-2.0
-- What ICMP errors have behind the part that all messages share: a word, of which each
-- type uses another part, then the start of the packet that caused the error.
-- LengthWords is RFC 4884's, in units of 4 bytes.
return {
  name = "icmperror", title = "ICMP error", source = "RFC 792; RFC 1191, section 4",
  over = {icmp = {3, 4, 11, 12}},
  next = "ip4", quotes = true,
  fields = {
    {"Pointer", 8},
    {"LengthWords", 8},
    {"NextHopMtu", 16},
  },
}
