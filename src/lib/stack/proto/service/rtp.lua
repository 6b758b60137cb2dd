-- SPDX-License-Identifier: Apache-2.0
-- RTP, at its registered port: sessions agree on others, for which a stack names it.
-- `sources` are the contributing sources; a header extension is a part of the payload.
return {
  name = "rtp", title = "RTP", source = "RFC 3550, section 5.1",
  over = {udp = 5004},
  when = {Version = 2},
  fields = {
    {"Version", 2, default = 2},
    {"Padding", 1, "flag"},
    {"Extension", 1, "flag"},
    {"SourceCount", 4, length = "variable", unit = 4},
    {"Marker", 1, "flag"},
    {"PayloadType", 7},
    {"Sequence", 16},
    {"Timestamp", 32},
    {"SSRC", 32},
  },
  variable = {"sources", from = "SourceCount"}, pad = 4,
}
