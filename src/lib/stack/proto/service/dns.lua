-- SPDX-License-Identifier: Apache-2.0
-- DNS over UDP, RFC 1035, section 4.1.1, with the bits AD and CD of RFC 4035. The body
-- is all sections: questions, answers, authorities, additional records.

return {
  name = "dns", title = "DNS", source = "RFC 1035, section 4.1.1",
  over = {udp = 53},
  fields = {
    {"Id", 16},
    {"QR", 1, aliases = {"Resp"}},
    {"OPCode", 4, aliases = {"QueryType"}},
    {"AA", 1, aliases = {"AuthAnswer", "AuthoritativeAnswer"}},
    {"TC", 1, aliases = {"Truncated", "Truncation"}},
    {"RD", 1, aliases = {"RecDesired", "RecursionDesired"}},
    {"RA", 1, aliases = {"RecAvailable", "RecursionAvailable"}},
    {"Z", 1},
    {"AD", 1},
    {"CD", 1},
    {"RCode", 4},
    {"QDCount", 16},
    {"ANCount", 16},
    {"NSCount", 16},
    {"ARCount", 16},
  },
  variable = {"body", size = "rest"},
  methods = {getMessageContent = function (header) return header.body end},
}
