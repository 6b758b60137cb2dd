-- SPDX-License-Identifier: Apache-2.0
-- Fields of IP packets as AggregateIP's argument names them: "ip src/8", "tcp[4:4]",
-- "ip{96-103}", "ip[8:2] & 0x3f0"; and their text again.

local arguments = require("click.arguments")
local fields = require("click.classification.ip.fields")
local names = require("click.classification.ip.names")

local field_text = {}

local IP, ICMP, TCP, UDP = 0, names.ICMP, names.TCP, names.UDP
local EITHER = names.TCP_OR_UDP

--- Protocol numbers that aren't IANA's: what is behind the IP header, and what is
--- behind TCP's or UDP's.
field_text.TRANSPORT, field_text.PAYLOAD = names.ANY, 259

-- The named fields by protocol: {first bit, bits}. (RFC 768, 791, 792, 2474, 9293)
local NAMED = {
  [IP] = {
    vers = {0, 4}, hl = {4, 4}, tos = {8, 8}, dscp = {8, 6}, ecn = {14, 2},
    len = {16, 16}, id = {32, 16}, off = {48, 16}, rf = {48, 1}, df = {49, 1},
    mf = {50, 1}, fragoff = {51, 13}, ttl = {64, 8}, proto = {72, 8}, sum = {80, 16},
    src = {96, 32}, dst = {128, 32},
  },
  [ICMP] = {type = {0, 8}, code = {8, 8}, sum = {16, 16}},
  [TCP] = {
    sport = {0, 16}, dport = {16, 16}, seq = {32, 32}, seqno = {32, 32},
    ackno = {64, 32}, hl = {96, 4}, flags = {104, 8}, urg = {106, 1}, ack = {107, 1},
    ackf = {107, 1}, psh = {108, 1}, push = {108, 1}, rst = {109, 1}, syn = {110, 1},
    fin = {111, 1}, win = {112, 16}, sum = {128, 16}, urp = {144, 16},
  },
  [UDP] = {sport = {0, 16}, dport = {16, 16}, len = {32, 16}, sum = {48, 16}},
  [EITHER] = {sport = {0, 16}, dport = {16, 16}},
}
local SHORTER = {seqno = true, push = true, ackf = true} -- another name is shown

local EXPECTED = "expected 'HEADER [NAME] [{OFFSET:LENGTH}] [/PREFIX] [& MASK]'"
local BAD_PLACE = "bad offset or length in TCP/IP field"
local BAD_MASK = "bad prefix or mask in TCP/IP field"

local function number(text) return (arguments.types.unsigned(text, {})) end

-- Reading --------------------------------------------------------------------------

-- The protocol that the text begins with, and the rest; nil if it names none.
local function header_of(text)
  local digits, rest = text:match("^ip%s+proto%s+(%w+)(.*)$")
  if digits and number(digits) then return number(digits), rest end
  local word
  word, rest = text:match("^([%w-]+)(.*)$")
  if word == "ip" then return IP, rest end
  if word == "data" then return field_text.PAYLOAD, rest end
  if NAMED[EITHER][word] then return EITHER, text end
  return word and names.protocol(word), rest
end

-- The named field that the text begins with, {protocol, first bit, bits}, and the
-- rest; nil if there is none.
local function named_of(protocol, text)
  local word, rest = text:match("^%s*([%a_]+)(.*)$")
  local place = word and (NAMED[protocol] or {})[word]
  if place then return {protocol, place[1], place[2]}, rest end
  if protocol == IP and word and NAMED[EITHER][word] then
    return {EITHER, NAMED[EITHER][word][1], NAMED[EITHER][word][2]}, rest
  end
end

-- What stands in brackets: the first bit, how many, and the rest; nil without brackets.
local function bracketed(text)
  local inner, rest = text:match("^%s*%[%s*(.-)%s*%](.*)$")
  local unit = 8
  if not inner then
    inner, rest = text:match("^%s*{%s*(.-)%s*}(.*)$")
    unit = 1
  end
  if not inner then return nil end
  local first, sign, second = inner:match("^(%w+)%s*([:,-])%s*(%w+)$")
  first = number(first or inner)
  second = sign and number(second) or 1
  if not first or not second then return nil end
  local count = sign == "-" and second - first + 1 or second
  return first * unit, count * unit, rest
end

-- The field, narrowed to a part of it; or nil and what is wrong.
local function narrowed(field, at, bits)
  if bits <= 0 or bits > 32 or field[3] and at + bits > field[3] then
    return nil, BAD_PLACE
  end
  return {field[1], field[2] + at, bits}
end

-- The field's bits that the mask has, which must be next to each other.
local function masked(field, mask)
  local low, high = 0, 0
  if not mask or mask == 0 then return nil, BAD_MASK end
  while mask % 2 ^ (low + 1) == 0 do low = low + 1 end
  while mask >= 2 ^ high do high = high + 1 end
  if mask ~= 2 ^ high - 2 ^ low or high > field[3] then return nil, BAD_MASK end
  return {field[1], field[2] + field[3] - high, high - low}
end

-- What "/8" and "& 0xff" behind the field leave of it; and the rest.
local function limited(field, text)
  local prefix, rest = text:match("^%s*/%s*(%w+)(.*)$")
  if prefix then
    local bits = number(prefix)
    if not bits or bits == 0 or bits > field[3] then return nil, BAD_MASK end
    field, text = {field[1], field[2], bits}, rest
  end
  local mask
  mask, rest = text:match("^%s*&%s*(%w+)(.*)$")
  if not mask then return field, text end
  local problem
  field, problem = masked(field, number(mask))
  return field, field and rest or problem
end

--- The field that the text names, as fields.at() of click.classification.ip.fields
--- makes them (a protocol of 0 is the IP header); or nil and what is wrong.
function field_text.parse(text)
  local protocol, rest = header_of(text)
  if not protocol then return nil, EXPECTED end
  local field, behind = named_of(protocol, rest)
  rest = behind or rest
  local at, bits
  at, bits, behind = bracketed(rest)
  if not field and not at then return nil, EXPECTED end
  local problem
  if at then
    field, problem = narrowed(field or {protocol, 0}, at, bits)
    if not field then return nil, problem end
    rest = behind
  end
  field, rest = limited(field, rest)
  if not field then return nil, rest end
  if rest:find("%S") then return nil, "garbage after field specification" end
  return fields.at(field[1], field[2], field[3])
end

-- Writing --------------------------------------------------------------------------

--- What the protocol is called.
function field_text.header(protocol)
  if protocol == IP then return "ip" end
  if protocol == field_text.PAYLOAD then return "payload" end
  return names.protocol_name(protocol) or ("%d"):format(protocol)
end

local function name_at(protocol, at, bits)
  for name, place in pairs(NAMED[protocol] or {}) do
    if place[1] == at and place[2] == bits and not SHORTER[name] then return name end
  end
end

-- The field as a part of a named one that begins at a byte: its text, or nil.
local function part_of_named(protocol, at, bits)
  for _, size in ipairs{8, 16, 32} do
    local first = at - at % size
    local name = at + bits <= first + size and name_at(protocol, first, size)
    if name and first == at then return (" %s/%d"):format(name, bits) end
    if name then return (" %s{%d:%d}"):format(name, at - first, bits) end
  end
end

--- The text of a field.
function field_text.text(field)
  local protocol, at, bits = field.protocol, field.offset, field.length
  local header = field_text.header(protocol)
  if header:find("^%d") then header = "ip proto " .. header end
  local name = name_at(protocol, at, bits)
  if name then return header .. " " .. name end
  local part = part_of_named(protocol, at, bits)
  if part then return header .. part end
  if at % 8 == 0 and bits == 8 then return ("%s[%d]"):format(header, at / 8) end
  if at % 8 == 0 and bits % 8 == 0 then
    return ("%s[%d:%d]"):format(header, at / 8, bits / 8)
  end
  return ("%s{%d:%d}"):format(header, at, bits)
end

return field_text
