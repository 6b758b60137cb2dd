-- SPDX-License-Identifier: Apache-2.0
-- SCTP's common header, RFC 9260. The CRC-32c is sent with its low byte first.
return {
  name = "sctp", title = "SCTP", source = "RFC 9260, section 3.1 and appendix A",
  over = {ip4 = 132},
  next = "sctpchunk",
  fields = {
    {"SrcPort", 16, label = "Src", member = "src", default = 1024},
    {"DstPort", 16, label = "Dst", member = "dst", default = 1025},
    {"VerificationTag", 32},
    {"Checksum", 32, checksum = "crc32c", order = "le"},
  },
}
