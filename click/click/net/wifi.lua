-- SPDX-License-Identifier: Apache-2.0
-- Frames of wireless networks (IEEE 802.11-2020, sections 9.2.4, 9.3.3 and 9.4.2), and
-- the annotation in which Click notes what receivers and senders say of one. Bytes that
-- a frame should have and hasn't are zeros, and elements that don't end in it aren't
-- there.

local bit = require("bit")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")
local wire = require("click.net.wire")

local band = bit.band

local wifi = {}

-- Headers ---------------------------------------------------------------------------

--- Bytes of a header with three addresses.
wifi.HEADER = 24
--- Types of frames, bits of the first byte.
wifi.MANAGEMENT, wifi.CONTROL, wifi.DATA, wifi.TYPES = 0x00, 0x04, 0x08, 0x0c
--- Subtypes of management frames, bits of the first byte.
wifi.ASSOCIATION_REQUEST, wifi.ASSOCIATION_RESPONSE = 0x00, 0x10
wifi.PROBE_REQUEST, wifi.PROBE_RESPONSE, wifi.BEACON = 0x40, 0x50, 0x80
wifi.DISASSOCIATION, wifi.AUTHENTICATION, wifi.SUBTYPES = 0xa0, 0xb0, 0xf0
--- Bits of the second byte.
wifi.MORE_FRAGMENTS, wifi.RETRY, wifi.PROTECTED = 0x04, 0x08, 0x40

local NOTHING = ("\0"):rep(6)

--- The address of nobody.
wifi.NOBODY = NOTHING
--- The address of all.
wifi.ALL = ("\255"):rep(6)

--- The frame's type and subtype, or nil if it is shorter than a header.
function wifi.kind(p)
  if p.length < wifi.HEADER then return nil end
  local first = p.data[0]
  return band(first, wifi.TYPES), band(first, wifi.SUBTYPES)
end

--- Address `i` (1 to 3) of a frame that has a whole header, six bytes.
function wifi.address(p, i) return ffi.string(p.data + 6 * i - 2, 6) end

--- The two bytes at `at` of the packet, less significant first.
function wifi.number(p, at)
  local data, n = p.data, p.length
  return (at < n and data[at] or 0) + (at + 1 < n and data[at + 1] or 0) * 256
end

--- The frame's sequence number, and that of the fragment.
function wifi.sequence(p)
  local number = wifi.number(p, 22)
  return bit.rshift(number, 4), band(number, 0xf)
end

-- Elements of management frames -----------------------------------------------------

--- Numbers of elements.
wifi.SSID, wifi.RATES, wifi.CHANNEL, wifi.TIM, wifi.MORE_RATES = 0, 1, 3, 5, 50
--- Bytes of a network's name, at most.
wifi.LONGEST_SSID = 32
--- The bit of the capability field that access points set.
wifi.ESS = 1

local BASIC = 0x80

--- The elements from `at` on: their contents by number, the last of each; and a list of
--- the others' numbers and lengths.
function wifi.elements(p, at)
  local list, others = {}, {}
  while at + 2 <= p.length do
    local number, size = p.data[at], p.data[at + 1]
    if at + 2 + size > p.length then break end
    list[number] = ffi.string(p.data + at + 2, size)
    others[#others + 1] = {number, size}
    at = at + 2 + size
  end
  return list, others
end

--- The network's name among elements; "" if there is none.
function wifi.ssid(list) return (list[wifi.SSID] or ""):sub(1, wifi.LONGEST_SSID) end

--- The rates, in 500 kbit/s, of an element's contents (nil: none), at most so many:
--- all, those that stations must know, and the others. They are added to lists of `to`.
function wifi.rates(contents, most, to)
  to = to or {all = {}, basic = {}, others = {}}
  for k = 1, math.min(#(contents or ""), most) do
    local rate = contents:byte(k)
    local value, kind = band(rate, BASIC - 1), rate >= BASIC and to.basic or to.others
    kind[#kind + 1], to.all[#to.all + 1] = value, value
  end
  return to
end

local CAPABILITIES = {"ESS", "IBSS", "CF_POLLABLE", "CF_POLLREQ", "PRIVACY"}

--- The capability field in words, a list.
function wifi.capabilities(field)
  local list = {}
  for i, name in ipairs(CAPABILITIES) do
    if band(field, bit.lshift(1, i - 1)) ~= 0 then list[#list + 1] = name end
  end
  return list
end

--- The list in words, with a blank behind each.
function wifi.spaced(list)
  return table.concat(list, " ") .. (list[1] and " " or "")
end

-- Making frames ---------------------------------------------------------------------

--- The number in two bytes, less significant first.
function wifi.little16(n) return string.char(n % 256, math.floor(n / 256) % 256) end

--- An element with that number.
function wifi.element(number, contents)
  return string.char(number, #contents) .. contents
end

local FIRST_RATES, ALWAYS, OF_5_GHZ, HIGHEST_OF_2_GHZ = 8, 2, 12, 15
local MOST_MORE_RATES = 255

--- The elements that offer the rates of the list; `channel`: of the network, or nil.
function wifi.rate_elements(rates, channel)
  local first, more = {}, {}
  for i, rate in ipairs(rates) do
    local is_basic = rate == ALWAYS
      or rate == OF_5_GHZ and (channel or 0) > HIGHEST_OF_2_GHZ
    table.insert(i <= FIRST_RATES and first or more,
      string.char(bit.bor(band(rate, 0xff), is_basic and BASIC or 0)))
    if #more == MOST_MORE_RATES then break end
  end
  local text = wifi.element(wifi.RATES, table.concat(first))
  if #more == 0 then return text end
  return text .. wifi.element(wifi.MORE_RATES, table.concat(more))
end

--- A management frame.
function wifi.management(subtype, to, from, bssid, body)
  local p = packet.from_string(string.char(subtype) .. "\0\0\0" .. to .. from .. bssid
    .. "\0\0" .. body)
  note.clear(p)
  return p
end

-- The annotation --------------------------------------------------------------------

--- Its first word.
wifi.MAGIC = 0x7492001
--- Its bytes.
wifi.EXTRA_BYTES = 24
--- Offsets in it.
wifi.RSSI, wifi.SILENCE, wifi.POWER, wifi.RATE, wifi.TRIES, wifi.RETRIES =
  8, 9, 10, 12, 16, 21
--- Flags in its second word.
wifi.TX, wifi.TX_FAILED, wifi.TX_OTHER_RATE, wifi.RX_BAD, wifi.RX_MORE = 1, 2, 4, 8, 16
wifi.NO_SEQUENCE, wifi.RTS, wifi.NO_ACK = 32, 128, 512
--- How often a frame is sent at most, usually.
wifi.MOST_RETRIES = 11

local words_t = ffi.typeof("uint32_t *")

--- The annotation's bytes and, as numbers of 32 bits, its words.
function wifi.extra(p)
  local extra = p.note8 + note.WIFI_EXTRA
  return extra, ffi.cast(words_t, extra)
end

--- Has the annotation that flag, or the same before the frame?
function wifi.has_flag(p, flag)
  local _, words = wifi.extra(p)
  if words[0] == wifi.MAGIC and band(words[1], flag) ~= 0 then return true end
  if p.length < 8 then return false end
  words = ffi.cast(words_t, p.data)
  return words[0] == wifi.MAGIC and band(words[1], flag) ~= 0
end

--- Who asks for a frame of that kind says what it got instead, and how the drop is
--- called; nil: it is one.
function wifi.refusal(p, subtype, called)
  local kind, own = wifi.kind(p)
  if not kind then
    return ("packet too small: %d vs %d"):format(p.length, wifi.HEADER)
  elseif kind ~= wifi.MANAGEMENT then
    return "received non-management packet"
  elseif subtype and own ~= subtype then
    return ("received non-%s packet"):format(called)
  end
end

wifi.eth_text = wire.eth_text

return wifi
