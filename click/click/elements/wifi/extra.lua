-- SPDX-License-Identifier: Apache-2.0
-- Elements of the annotation in which Click notes how a wireless frame came, or is to
-- be sent: put before the frame (ExtraEncap, RadiotapEncap) and taken from there
-- (ExtraDecap), or written (SetTXRate, SetTXPower, SetRTS, SetNoAck, WifiSeq).

local bit = require("bit")
local ffi = require("ffi")
local element = require("click.element")
local front = require("click.net.front")
local read16 = require("net.wire.bytes").read16
local shared = require("click.net.wifi_elements")
local wifi = require("click.net.wifi")
local wire = require("click.net.wire")

local barrier = wire.barrier
local EXTRA = wifi.EXTRA_BYTES
local DEBUG = shared.DEBUG

local function define_moving(name, summary, fields)
  fields.name, fields.summary, fields.arguments = name, summary, {DEBUG}
  fields.handlers = {debug = shared.debug()}
  fields.reads, fields.division, fields.live = {"WIFI_EXTRA"}, "any", true
  local class = element.define(fields)
  function class:configure(a) self.debug = a.DEBUG end
  return class
end

-- Before the frame ------------------------------------------------------------------

local ExtraDecap = define_moving("ExtraDecap",
  "takes the annotation from before wireless frames", {
    notes = "What begins otherwise passes as it is.",
  })

function ExtraDecap.process(_, p)
  if p.length < EXTRA or ffi.cast("uint32_t *", p.data)[0] ~= wifi.MAGIC then
    return p
  end
  ffi.copy((wifi.extra(p)), p.data, EXTRA)
  barrier()
  front.cut(p, EXTRA)
  return p
end

local ExtraEncap = define_moving("ExtraEncap",
  "puts the annotation before wireless frames",
  {drops = {"too long"}, lengthens = EXTRA})

function ExtraEncap.process(_, p)
  if not front.open(p, EXTRA) then return nil, 1 end
  ffi.copy(p.data, (wifi.extra(p)), EXTRA)
  ffi.cast("uint32_t *", p.data)[0] = wifi.MAGIC
  barrier()
  return p
end

-- A radiotap header (radiotap.org) with rate, power, flags and retries.
local TAP, PRESENT, TAP_NO_ACK = 14, 0x28404, 8
local TAP_RATE, TAP_POWER, TAP_FLAGS, TAP_RETRIES = 8, 9, 10, 12

local RadiotapEncap = define_moving("RadiotapEncap",
  "puts radiotap headers before wireless frames",
  {drops = {"too long"}, lengthens = TAP})

function RadiotapEncap.process(_, p)
  if not front.open(p, TAP) then return nil, 1 end
  local data, extra, words = p.data, wifi.extra(p)
  ffi.fill(data, TAP)
  data[2] = TAP
  ffi.cast("uint32_t *", data)[1] = PRESENT
  data[TAP_RATE], data[TAP_POWER] = extra[wifi.RATE], extra[wifi.POWER]
  if bit.band(words[1], wifi.NO_ACK) ~= 0 then data[TAP_FLAGS] = TAP_NO_ACK end
  local tries = extra[wifi.TRIES]
  data[TAP_RETRIES] = tries > 0 and tries - 1 or wifi.MOST_RETRIES + 1
  barrier()
  return p
end

-- Written ---------------------------------------------------------------------------

local function define_setter(name, summary, arguments, handlers)
  return element.define{
    name = name, summary = summary, arguments = arguments, handlers = handlers,
    reads = {"WIFI_EXTRA"}, division = "any", live = true,
  }
end

local UNSIGNED_16 = 0xffff

-- The annotation's bytes and words, of which the first says that there are others.
local function marked(p)
  local extra, words = wifi.extra(p)
  words[0] = wifi.MAGIC
  return extra, words
end

local SetTXRate = define_setter("SetTXRate",
  "notes at which rate a frame is to be sent",
  {
    {"RATE", "unsigned", default = 0, max = 0xff},
    {"TRIES", "unsigned", default = wifi.MOST_RETRIES + 1, keyword = true, max = 0xff},
    {"ETHTYPE", "unsigned", default = 0, keyword = true, max = UNSIGNED_16},
    {"OFFSET", "unsigned", default = 0, keyword = true, max = UNSIGNED_16},
  }, {
    rate = element.data("rate", "unsigned"), tries = element.data("tries", "unsigned"),
  })

SetTXRate.notes = "RATE is in 500 kbit/s (0: 1 Mbit/s). With ETHTYPE only frames with "
  .. "that type, of an Ethernet header at OFFSET."

function SetTXRate:configure(a)
  if a.TRIES < 1 then return self:error("TRIES must be >= 0") end
  self.rate, self.tries = a.RATE, a.TRIES
  self.ethtype, self.offset = a.ETHTYPE, a.OFFSET
end

local TYPE_AT, SLOWEST = 12, 2

function SetTXRate:process(p)
  if self.ethtype ~= 0 then
    local at = self.offset + TYPE_AT
    if p.length < at + 2 or read16(p.data + at) ~= self.ethtype then
      return p
    end
  end
  local extra = marked(p)
  extra[wifi.RATE] = self.rate > 0 and self.rate or SLOWEST
  extra[wifi.TRIES] = self.tries
  barrier()
  return p
end

local SetTXPower = define_setter("SetTXPower",
  "notes with which power a frame is to be sent",
  {{"POWER", "unsigned", default = 0, max = 0xff}},
  {power = element.data("power", "unsigned")})

function SetTXPower:configure(a) self.power = a.POWER end

function SetTXPower:process(p)
  (marked(p))[wifi.POWER] = self.power
  barrier()
  return p
end

local SetRTS = define_setter("SetRTS",
  "notes whether a frame is to be announced by RTS",
  {{"RTS", "bool", required = true}}, {rts = element.data("rts", "bool")})

function SetRTS:configure(a) self.rts = a.RTS end

function SetRTS:process(p)
  local _, words = marked(p)
  words[1] = self.rts and bit.bor(words[1], wifi.RTS)
    or bit.band(words[1], bit.bnot(wifi.RTS))
  barrier()
  return p
end

local SetNoAck = define_setter("SetNoAck",
  "notes that nobody is to acknowledge a frame",
  {}, {})

function SetNoAck.process(_, p)
  local _, words = wifi.extra(p)
  words[1] = bit.bor(words[1], wifi.NO_ACK)
  barrier()
  return p
end

-- WifiSeq ---------------------------------------------------------------------------

local WifiSeq = element.define{
  name = "WifiSeq", summary = "numbers wireless frames", ports = "1/-",
  live = true,
  division = "none", undivided = "packets are numbered in one row",
  reads = {"WIFI_EXTRA"},
  arguments = {
    DEBUG, {"OFFSET", "unsigned", default = 22, keyword = true, max = UNSIGNED_16},
    {"BYTES", "unsigned", default = 2, keyword = true},
    {"SHIFT", "unsigned", default = 4, keyword = true, max = 31},
  },
  handlers = {
    debug = shared.debug(), seq = element.data("seq", "unsigned"),
    offset = element.data("offset"), bytes = element.data("bytes"),
    shift = element.data("shift"),
    reset = element.command(function (self) self.seq = 0 end),
  },
}

function WifiSeq:configure(a)
  if a.BYTES ~= 2 and a.BYTES ~= 4 then
    return self:error("BYTES must be either 2 or 4")
  end
  self.debug, self.offset, self.bytes, self.shift = a.DEBUG, a.OFFSET, a.BYTES, a.SHIFT
  self.seq = 0
end

function WifiSeq:process(p)
  if p.length <= self.offset + self.bytes then return p end
  local _, words = wifi.extra(p)
  words[1] = bit.bor(words[1], wifi.NO_SEQUENCE)
  local number = bit.lshift(bit.tobit(self.seq), self.shift)
  for k = 0, self.bytes - 1 do
    p.data[self.offset + k] = bit.band(bit.rshift(number, 8 * k), 0xff)
  end
  self.seq = (self.seq + 1) % 2 ^ 32
  barrier()
  return p
end

return {ExtraDecap, ExtraEncap, RadiotapEncap, SetTXRate, SetTXPower, SetRTS, SetNoAck,
  WifiSeq}
