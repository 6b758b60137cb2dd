-- SPDX-License-Identifier: Apache-2.0
-- Prism2Decap takes the header off that the linux-wlan-ng driver puts before wireless
-- frames (ARPHRD_IEEE80211_PRISM), and notes what it says. The header is 24 bytes and
-- ten items of 12, with a number in the last 4 of each, in the order of the machine.

local bit = require("bit")
local ffi = require("ffi")
local element = require("click.element")
local front = require("click.net.front")
local note = require("click.note")
local wire = require("click.net.wire")

local words_t = ffi.typeof("uint32_t *")
local SNIFFED, BYTES = 0x44, 144 -- its first word; its bytes
local ITEMS, ITEM, VALUE = 24, 12, 8

-- The value of item `i`, from 0.
local function place(i) return (ITEMS + i * ITEM + VALUE) / 4 end
local RSSI, NOISE, RATE, SENT = place(3), place(6), place(7), place(8)

-- Click's annotation: its second word are flags; then bytes.
local EXTRA, EXTRA_TX = note.WIFI_EXTRA, 1
local RSSI_AT, SILENCE_AT, RATE_AT = 8, 9, 12

local Prism2Decap = element.define{
  name = "Prism2Decap", summary = "takes Prism2 headers off, notes what they say",
  division = "any", live = true, reads = {"WIFI_EXTRA"},
  arguments = {{"DEBUG", "bool", default = false, keyword = true}},
  handlers = {debug = element.data("debug", "bool")},
  notes = "What begins otherwise, or is shorter than the header's 144 bytes, passes as "
    .. "it is.",
}

function Prism2Decap:configure(a) self.debug = a.DEBUG end

function Prism2Decap:process(p)
  local words = ffi.cast(words_t, p.data)
  if p.length < BYTES or words[0] ~= SNIFFED then return p end
  local extra = p.note8 + EXTRA
  extra[RSSI_AT], extra[SILENCE_AT] = words[RSSI] % 256, words[NOISE] % 256
  extra[RATE_AT] = words[RATE] % 256
  local flags = ffi.cast(words_t, extra) + 1
  flags[0] = words[SENT] ~= 0 and bit.bor(flags[0], EXTRA_TX)
    or bit.band(flags[0], bit.bnot(EXTRA_TX))
  wire.barrier()
  front.cut(p, BYTES)
  return p
end

return {Prism2Decap}
