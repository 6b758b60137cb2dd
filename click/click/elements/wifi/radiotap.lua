-- SPDX-License-Identifier: Apache-2.0
-- RadiotapDecap takes the header off that receivers of wireless frames put before them
-- (radiotap.org), and notes what it says, as Click's wifi annotation has it.

local bit = require("bit")
local ffi = require("ffi")
local element = require("click.element")
local front = require("click.net.front")
local note = require("click.note")
local wire = require("click.net.wire")

local band, bor, lshift = bit.band, bit.bor, bit.lshift
local FIXED, WORD = 8, 4 -- bytes
local MORE = 31 -- the bit of a further word of bits

-- The fields in order: {bytes, alignment}.
local FIELDS = {[0] = {8, 8}, {1, 1}, {1, 1}, {4, 2}, {2, 1}, {1, 1}, {1, 1}, {2, 2},
  {2, 2}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {1, 1}, {1, 1},
  {8, 4}, {3, 1}, {8, 4}, {12, 2}}
local FLAGS, RATE, SIGNAL_DBM, NOISE_DBM, SIGNAL_DB, NOISE_DB, RX, TX, RETRIES =
  1, 2, 5, 6, 12, 13, 14, 15, 17
local HAS_FCS, HAS_PAD, BAD_FCS, TX_FAILED = 0x10, 0x20, 1, 1
local FCS = 4 -- bytes

-- Click's annotation: offsets, its first word, and its flags.
local EXTRA, MAGIC = note.WIFI_EXTRA, 0x7492001
local EXTRA_BYTES, RSSI, SILENCE, PAD, RATE_AT, RETRIES_AT = 24, 8, 9, 11, 12, 21
local EXTRA_TX, EXTRA_FAILED, EXTRA_BAD = 1, 2, 8

local RadiotapDecap = element.define{
  name = "RadiotapDecap", summary = "takes radiotap headers off, notes what they say",
  live = true,
  arguments = {{"DEBUG", "bool", default = false, keyword = true}}, reads = {},
  handlers = {debug = element.data("debug", "bool")},
}

function RadiotapDecap:configure(a)
  self.debug, self.at = a.DEBUG, {} -- `at`: where each field is that is there
end

local function little16(data) return bor(data[0], lshift(data[1], 8)) end
local function little32(data)
  return bor(little16(data), lshift(little16(data + 2), 16))
end
local function has(bits, n) return band(bits, lshift(1, n)) ~= 0 end

-- Where the fields begin, behind all words of bits; nil if they don't end in time.
local function fields_at(data, length)
  local at = WORD
  while has(little32(data + at), MORE) do
    at = at + WORD
    if at + WORD > length then return nil end
  end
  return at + WORD
end

-- Find the fields. The header's length, or nil if it isn't sound.
local function find_fields(self, data, n)
  local length = n >= FIXED and data[0] == 0 and little16(data + 2) or 0
  if length < FIXED or length > n then return nil end
  local at, bits = fields_at(data, length), little32(data + WORD)
  if not at then return nil end
  for i = 0, #FIELDS do
    self.at[i] = false
    if has(bits, i) then
      local size, unit = FIELDS[i][1], FIELDS[i][2]
      at = at + (unit - at % unit) % unit
      self.at[i] = at
      at = at + size
    end
  end
  return at <= length and length or nil
end

local function copy_byte(extra, to, data, at)
  if at then extra[to] = data[at] end
end

-- Note what the fields say. Does a check sequence end the frame?
local function take_note(self, p, data)
  local at, extra, flags = self.at, p.note8 + EXTRA, 0
  ffi.fill(extra, EXTRA_BYTES)
  copy_byte(extra, RATE_AT, data, at[RATE])
  copy_byte(extra, RSSI, data, at[SIGNAL_DBM])
  copy_byte(extra, SILENCE, data, at[NOISE_DBM])
  copy_byte(extra, RSSI, data, at[SIGNAL_DB])
  copy_byte(extra, SILENCE, data, at[NOISE_DB])
  copy_byte(extra, RETRIES_AT, data, at[RETRIES])
  if at[RX] and band(little16(data + at[RX]), BAD_FCS) ~= 0 then flags = EXTRA_BAD end
  if at[TX] then
    local failed = band(little16(data + at[TX]), TX_FAILED) ~= 0
    flags = bor(flags, EXTRA_TX, failed and EXTRA_FAILED or 0)
  end
  local own = at[FLAGS] and data[at[FLAGS]] or 0
  if band(own, HAS_PAD) ~= 0 then extra[PAD] = 1 end
  local words = ffi.cast("uint32_t *", extra)
  words[0], words[1] = MAGIC, flags
  wire.barrier()
  return band(own, HAS_FCS) ~= 0
end

--- A header that isn't sound stays where it is.
function RadiotapDecap:process(p)
  local data = p.data
  local length = find_fields(self, data, p.length)
  if not length then return p end
  local has_fcs = take_note(self, p, data)
  if has_fcs and p.length >= length + FCS then p.length = p.length - FCS end
  front.cut(p, length)
  p.note16[note.MAC_HEADER] = p.data_off
  return p
end

return {RadiotapDecap}
