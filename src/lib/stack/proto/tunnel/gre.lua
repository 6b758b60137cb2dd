-- SPDX-License-Identifier: Apache-2.0
-- GRE, RFC 2784, with the key and sequence number of RFC 2890: {"gre", with = {"Key"}}.
return {
  name = "gre", title = "GRE", source = "RFC 2784, section 2; RFC 2890, section 2",
  over = {ip4 = 47},
  when = {Version = 0},
  next = {field = "ProtoType", as = "eth"},
  fields = {
    {"FlagsAndVersion", 16, label = "Flags", at = "ChecksumPresent"},
    {"ChecksumPresent", 1, "flag"},
    {"Reserved0", 1},
    {"KeyPresent", 1, "flag"},
    {"SequencePresent", 1, "flag"},
    {"Reserved1", 9},
    {"Version", 3},
    {"ProtoType", 16, label = "Proto"},
    {"Checksum", 16, checksum = "all", when = "ChecksumPresent"},
    {"Reserved2", 16, when = "ChecksumPresent"},
    {"Key", 32, when = "KeyPresent"},
    {"Sequence", 32, when = "SequencePresent"},
  },
}
