-- SPDX-License-Identifier: Apache-2.0
-- CheckGREHeader: is there a GRE header (RFC 2784, RFC 2890) that may be believed?

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local checks = require("click.net.checks")
local element = require("click.element")
local front = require("click.net.front")
local wire = require("click.net.wire")

local band, tobit = bit.band, bit.tobit
local words_t = ffi.typeof("int32_t *")
local HEADER, OPTION = 4, 4 -- bytes
local CHECKSUM, KEY, SEQUENCE = 0x80, 0x20, 0x10 -- flags, in the first byte
local VERSION = 0x07 -- in the second

local CheckGREHeader = element.define{
  name = "CheckGREHeader", summary = "checks GRE header", ports = "1/1-2",
  division = "any",
  processing = "a/ah", reads = {},
  drops = {"tiny packet", "bad GRE version", "bad GRE header length",
           "bad GRE checksum", "invalid key", "out of sequence"},
  arguments = {
    {"OFFSET", "unsigned", default = 0, keyword = true},
    {"CHECKSUM", "bool", default = false, keyword = true,
      meaning = "there must be a checksum, and it must be right"},
    {"KEY", "unsigned", default = 0, keyword = true,
      meaning = "there must be this key, if it isn't 0"},
    {"SEQUENCE", "bool", default = false, keyword = true,
      meaning = "there must be a number, and it must be above the one before"},
    {"STRIP", "bool", default = false, keyword = true,
      meaning = "take as many bytes off the front as the header has"},
    checks.arguments[1], checks.arguments[2],
  },
  complaint = "%sGRE header check failed: %s",
}
checks.attach(CheckGREHeader)
function CheckGREHeader:title() return "" end -- luacheck: no self
local TINY, BAD_VERSION, BAD_SIZE, BAD_SUM, BAD_KEY, BAD_NUMBER = 1, 2, 3, 4, 5, 6

CheckGREHeader.handlers.count = nil
CheckGREHeader.handlers.drops = {read = function (e) return ("%d\n"):format(e.bad) end}
CheckGREHeader.handlers.drop_details = {read = function (e)
  local lines = {}
  for i, name in ipairs(e.drops) do
    lines[i] = e.details and ("%d\t%s\n"):format(e.reasons[i], name) or ""
  end
  return table.concat(lines)
end}

function CheckGREHeader:configure(a)
  checks.configure(self, a)
  self.offset, self.sum, self.strip = a.OFFSET, a.CHECKSUM, a.STRIP
  self.key = a.KEY ~= 0 and wire.word_of(a.KEY) or nil
  self.number = a.SEQUENCE and 0 or nil
end

-- Where the header's options begin, from its first byte on (0: it isn't there): the
-- key's, and the number's; and the header's size.
local function layout(flags)
  local size, key, number = HEADER, 0, 0
  if band(flags, CHECKSUM) ~= 0 then size = size + OPTION end
  if band(flags, KEY) ~= 0 then key, size = size, size + OPTION end
  if band(flags, SEQUENCE) ~= 0 then number, size = size, size + OPTION end
  return key, number, size
end

local function word(gre, at) return ffi.cast(words_t, gre + at)[0] end

-- The reason why the number isn't taken, or nil.
local function check_number(self, gre, at)
  if at == 0 then return BAD_NUMBER end
  local number = tobit(wire.number_of(word(gre, at)))
  if tobit(number - self.number) <= 0 then return BAD_NUMBER end
  self.number = number
end

-- The reason why the packet isn't taken; nil, and the header's size.
local function examine(self, p)
  local gre, length = p.data + self.offset, p.length - self.offset
  if length < HEADER then return TINY end
  if band(gre[1], VERSION) ~= 0 then return BAD_VERSION end
  local key, number, size = layout(gre[0])
  if length < size then return BAD_SIZE end
  if self.sum and (band(gre[0], CHECKSUM) == 0
    or C.pg_checksum_word(gre, length) ~= 0) then
    return BAD_SUM
  end
  if self.key and (key == 0 or word(gre, key) ~= self.key) then return BAD_KEY end
  return self.number and check_number(self, gre, number), size
end

function CheckGREHeader:process(p)
  local problem, size = examine(self, p)
  if problem then
    local q, o = checks.fail(self, p, problem)
    return q, o
  end
  self.count = self.count + 1
  if self.strip then front.cut(p, size) end
  return p
end

return {CheckGREHeader}
