-- SPDX-License-Identifier: Apache-2.0
-- Is that an IPv4 header (RFC 791; RFC 1812, section 5.2.2)? Packets behind it are cut
-- to the header's length, and their annotations say where the header is and ends, and
-- where the packet is to go.

local bit = require("bit")
local ffi = require("ffi")
local arguments = require("click.arguments")
local checks = require("click.net.checks")
local element = require("click.element")
local members = require("click.net.members")
local note = require("click.note")
local numbers = require("click.arguments.numbers")
local wire = require("click.net.wire")

local band, bor, lshift, rshift, tobit =
  bit.band, bit.bor, bit.lshift, bit.rshift, bit.tobit
local cast = ffi.cast
local swap16 = wire.swap16
local halves_t, words_t = ffi.typeof("const uint16_t *"), ffi.typeof("const uint32_t *")
local NETWORK, TRANSPORT = note.NETWORK_HEADER, note.TRANSPORT_HEADER
local DST_IP = note.DST_IP
local MINIMAL = 20 -- bytes
local USUAL = 0x45 -- version 4, no options

local CheckIPHeader = element.define{
  name = "CheckIPHeader", summary = "checks IP header",
  division = "any",
  ports = "1/1-2", processing = "a/ah",
  arguments = {
    {"OFFSET", "unsigned", default = 0, keyword = true, max = 0xffff},
    {"INTERFACES", "ip_prefix", list = true, bare = true, keyword = true},
    {"BADSRC", "ip", list = true, keyword = true},
    {"GOODDST", "ip", list = true, keyword = true},
    {"CHECKSUM", "bool", default = true, keyword = true},
    unpack(checks.arguments),
  },
  drops = {"tiny packet", "bad IPv4 version", "bad IPv4 header length",
           "bad IPv4 length", "bad IPv4 checksum", "bad source address"},
  complaint = "%s: IP header check failed: %s", reads = {},
  title = function (e) return e.name end,
}
checks.attach(CheckIPHeader)
local TINY, BAD_VERSION, BAD_HEADER, BAD_LENGTH, BAD_CHECKSUM, BAD_SOURCE =
  1, 2, 3, 4, 5, 6

-- Addresses ------------------------------------------------------------------------

local ALL = 2 ^ 32 - 1

--- Words of the sources that mustn't be, and of destinations that may have them all the
--- same: from lists of numbers and prefixes, each may be nil.
local function address_lists(interfaces, bad, good)
  local bad_words, good_words = {}, {}
  for _, net in ipairs(interfaces or {}) do
    table.insert(bad_words, wire.word_of(bor(net.address, bit.bnot(net.mask)) % 2 ^ 32))
    table.insert(good_words, wire.word_of(net.address))
  end
  if interfaces then
    table.insert(bad_words, wire.word_of(0))
    table.insert(bad_words, wire.word_of(ALL))
  end
  for _, address in ipairs(bad or {}) do
    table.insert(bad_words, wire.word_of(address))
  end
  for _, address in ipairs(good or {}) do
    table.insert(good_words, wire.word_of(address))
  end
  return bad_words, good_words
end

-- Of arguments by position: an offset; or, as of old, bad sources and then an offset.
-- The list of bad sources, or nil, and whether all is well.
local function old_positions(self, rest)
  local first = rest[1] and numbers.unsigned(rest[1], {max = 0xffff})
  if first and #rest == 1 then
    self.offset = first
    return nil, true
  end
  local a = arguments.parse({
    {"BADSRC", "ip", list = true}, {"OFFSET", "unsigned", default = self.offset},
  }, rest, self)
  if not a then return nil, false end
  self.offset = a.OFFSET
  local bad = a.BADSRC
  if bad then
    table.insert(bad, 0)
    table.insert(bad, ALL)
  end
  return bad, true
end

function CheckIPHeader:configure_raw(texts)
  local reader, a = arguments.reader(texts, self), {}
  for _, spec in ipairs(self.arguments) do a[spec[1]] = reader:read(spec) end
  self.offset, self.sum = a.OFFSET, a.CHECKSUM and not self.trusting
  local bad, ok = old_positions(self, reader:rest())
  if not (ok and reader.ok) then return end
  local bad_words, good_words = address_lists(a.INTERFACES, a.BADSRC, a.GOODDST)
  for _, address in ipairs(bad or {}) do
    table.insert(bad_words, wire.word_of(address))
  end
  self.is_bad, self.is_good = members.of(bad_words), members.of(good_words)
  checks.configure(self, a)
end

-- Packets --------------------------------------------------------------------------

-- A number is a multiple of 65535 if it times this, modulo 2^64, is at most that (the
-- inverse of 65535, and 2^64 / 65535).
local INVERSE, MOST = 0xfffefffefffeffffULL, 0x0001000100010001ULL

-- The sum of the header's options, to which `sum` is added.
local function with_options(words, sum, header)
  for i = MINIMAL / 4, header / 4 - 1 do sum = sum + words[i] end
  return sum
end

-- Is the header's checksum right? Byte order doesn't matter (RFC 1071, section 2B), nor
-- that words are added: all ones, which the sum of halves must come to, is that of
-- multiples of 65535.
local function has_good_sum(w, header)
  local sum = 0ULL + w[0] + w[1] + w[2] + w[3] + w[4]
  if header > MINIMAL then sum = with_options(w, sum, header) end
  return sum * INVERSE <= MOST
end

-- What is wrong with the `length` bytes at `ip`, or nil; and the lengths in the header.
local function examine(ip, length, sum, is_bad, is_good)
  local first, header = ip[0], MINIMAL
  if first ~= USUAL then
    if rshift(first, 4) ~= 4 then return BAD_VERSION end
    header = lshift(band(first, 15), 2)
    if header < MINIMAL then return BAD_HEADER end
  end
  local words = cast(words_t, ip)
  local total = swap16(cast(halves_t, ip)[1])
  if total > length or total < header then return BAD_LENGTH end
  if sum and not has_good_sum(words, header) then return BAD_CHECKSUM end
  if is_bad(tobit(words[3])) and not is_good(tobit(words[4])) then return BAD_SOURCE end
  return nil, header, total
end

--- What is wrong with the header `offset` bytes into the packet; nil: nothing, and the
--- packet is as behind CheckIPHeader. `sum`: check the checksum, too. `spare`: a packet
--- with a bad header goes on, as it was.
local function check(p, offset, sum, is_bad, is_good, spare)
  local length = tobit(p.length - offset)
  if length < MINIMAL then return TINY end
  -- By way of the annotation, as all who come next find it: LuaJIT then knows that it
  -- is the same memory (wire.barrier).
  local n = p.note16
  local before = spare and n[NETWORK]
  n[NETWORK] = tobit(p.data_off + offset)
  local ip = p.buf_addr + n[NETWORK]
  local problem, header, total = examine(ip, length, sum, is_bad, is_good)
  if problem then
    if spare then n[NETWORK] = before end
    return problem
  end
  n[TRANSPORT] = tobit(n[NETWORK] + header)
  p.note32[DST_IP] = cast(words_t, ip)[4]
  if total < length then p.length = tobit(offset + total) end
end
CheckIPHeader.check, CheckIPHeader.address_lists = check, address_lists

checks.examine_by(CheckIPHeader, function (e)
  local offset, sum, is_bad, is_good = e.offset, e.sum, e.is_bad, e.is_good
  local spare = e.noutputs == 2
  return function (p) return check(p, offset, sum, is_bad, is_good, spare) end
end)

-- The same without the checksum.
local CheckIPHeader2 = element.define{
  name = "CheckIPHeader2", extends = CheckIPHeader, trusting = true,
  summary = "checks IP header without checksum",
}

return {CheckIPHeader, CheckIPHeader2}
