-- SPDX-License-Identifier: Apache-2.0
-- Types of arguments that are text, elements or annotations, as numbers says.

local names = require("click.names")
local numbers = require("click.arguments.numbers")
local text_of = require("click.language.text")

local words = {}

--- The argument as it is written.
function words.argument(text) return text end

--- One word, or anything in quotes; without the quotes.
function words.string(text)
  if text == "" or #text_of.words(text) ~= 1 then return nil end
  return text_of.unquote(text)
end

--- The bytes of packets: the same as a string.
words.data = words.string

--- The same, if it has nothing that needs quotes.
function words.word(text)
  local value = words.string(text)
  return value and text_of.is_word(value) and value or nil
end

local function home_of(user)
  local passwd = user ~= "" and require("posix.pwd").getpwnam(user)
  return user == "" and os.getenv("HOME") or passwd and passwd.pw_dir
end

--- The path of a file; ~ and ~USER are home directories.
function words.filename(text)
  local path = words.string(text)
  if not path or path == "" then return nil end
  path = path:gsub("^~([^/]*)", home_of)
  return (path:gsub("//+", "/"))
end

--- An element, by its name as the asking one sees it. `spec.class`: only one of this
--- class.
function words.element(text, spec, element)
  local found = element.router:find(text, element)
  if not found then return nil, "does not name an element" end
  if spec.class and found.class ~= spec.class then
    return nil, "element type mismatch, expected " .. spec.class
  end
  return found
end

-- Annotations that have a name: their first byte, and how many.
local ANNOTATIONS = {
  DST_IP = {0, 4}, DST_IP6 = {0, 16}, WIFI_EXTRA = {16, 24}, PAINT2 = {16, 2},
  ICMP_PARAMPROB = {16, 1}, IP6_NXT = {16, 1}, PAINT = {17, 1}, FIX_IP_SRC = {19, 1},
  VLAN = {20, 2}, VLAN_TCI = {20, 2}, AGGREGATE = {20, 4}, FWD_RATE = {20, 4},
  MISC_IP = {20, 4}, REV_RATE = {24, 4}, BATCH_COUNT = {24, 2}, EXTRA_PACKETS = {26, 2},
  GRID_ROUTE_CB = {27, 1}, IPREASSEMBLER = {28, 4}, EXTRA_LENGTH = {28, 4},
  FIRST_TIMESTAMP = {32, 8}, PACKET_NUMBER = {32, 4}, SEQUENCE_NUMBER = {32, 4},
}
local ANNOTATION_BYTES = 48

--- The first byte of an annotation, from 0 on, and its length (nil if it isn't known):
--- 17, or PAINT, or a name that the configuration has defined. `spec.size`: this many
--- bytes from there on.
function words.anno(text, spec, element)
  local known = names.find("annotation", element, text) or ANNOTATIONS[text]
  local offset = known and known[1] or not known and numbers.count(text, {})
  if not offset then return nil end
  local length = known and known[2]
  if spec.size and length and length ~= spec.size then return nil end
  if offset + (spec.size or 1) > ANNOTATION_BYTES then return nil end
  return offset, nil, spec.size or length
end

return words
