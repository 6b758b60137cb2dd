-- SPDX-License-Identifier: Apache-2.0
-- DNS over UDP, RFC 1035, section 4.1.1, with the bits AD and CD of RFC 4035. The body
-- is all sections: questions, answers, authorities, additional records, which
-- lib.stack.body.dns reads and writes.

local body = require("lib.stack.body.dns")
local failure = require("core.failure")
local ffi = require("ffi")

local HEADER = 12 -- bytes

local function check_bytes(method, bytes)
  if type(bytes) == "number" and bytes >= HEADER then return end
  failure.usage("%s needs the number of bytes from the DNS header to the end of the "
    .. "packet, not %s", method, tostring(bytes))
end

-- pkt.dns:getRecords(pkt.length - 42)
local function get_records(header, bytes)
  check_bytes("getRecords", bytes)
  return body.read(header, bytes)
end

-- Write the message's records and counts, in at most so many bytes from the header on;
-- how many they are.
local function set_records(header, message, bytes)
  check_bytes("setRecords", bytes)
  local ok, content, counts = pcall(body.write, message)
  if not ok then failure.usage("%s", content) end
  if HEADER + #content > bytes then
    failure.usage("the DNS records take %d bytes with their header; there are %d",
      HEADER + #content, bytes)
  end
  for name, count in pairs(counts) do header["set" .. name](header, count) end
  ffi.copy(ffi.cast("uint8_t *", header) + HEADER, content, #content)
  return HEADER + #content
end

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
  methods = {
    getMessageContent = function (header) return header.body end,
    getRecords = get_records, setRecords = set_records,
  },
}
