-- SPDX-License-Identifier: Apache-2.0
-- Wired Equivalent Privacy: WepEncap encrypts wireless frames, WepDecap decrypts them.

local bit = require("bit")
local C = require("core.declare")("native/wep.h")
local chance = require("click.chance")
local element = require("click.element")
local ffi = require("ffi")
local front = require("click.net.front")
local packet = require("core.packet")
local shared = require("click.net.wifi_elements")
local wifi = require("click.net.wifi")
local wire = require("click.net.wire")

local band, bor, rshift = bit.band, bit.bor, bit.rshift
local HEADER, PROTECTED = wifi.HEADER, wifi.PROTECTED
local IV, WEP, CHECK, LONGEST_KEY = 3, 4, 4, 16 -- bytes
local MOST_ID = 0xff

local function define(name, summary, fields, arguments)
  fields.name, fields.summary, fields.reads = name, summary, {}
  fields.arguments = {{"KEY", "string", default = ""}}
  for _, spec in ipairs(arguments) do table.insert(fields.arguments, spec) end
  fields.handlers = {
    debug = shared.debug(), keyid = element.data("keyid", "unsigned"),
    key = {
      read = function (self)
        return "\\<" .. self.key:gsub(".", function (byte)
          return ("%02X"):format(byte:byte())
        end) .. ">"
      end,
      write = function (self, text)
        if #text > LONGEST_KEY then
          return "key parameter must have at most 16 bytes"
        end
        self.key = text
        self:changed()
      end,
    },
  }
  fields.notes = "Who listens to it for minutes can read what WEP protects."
  return element.define(fields)
end

local function configure(self, a)
  if #a.KEY > LONGEST_KEY then
    return self:error("KEY has %d bytes; it has at most %d", #a.KEY, LONGEST_KEY)
  end
  self.key, self.keyid, self.debug, self.active = a.KEY, a.KEYID, a.DEBUG, a.ACTIVE
end

local whole_key = ffi.new("uint8_t[?]", IV + LONGEST_KEY)

-- Encrypt or decrypt n bytes, with the initialization vector at `iv`.
local function crypt(self, iv, data, n)
  ffi.copy(whole_key, iv, IV)
  ffi.copy(whole_key + IV, self.key, #self.key)
  C.pg_wep_crypt(whole_key, IV + #self.key, data, n)
end

-- WepEncap --------------------------------------------------------------------------

local DEBUG = shared.DEBUG
local STRICT = {"STRICT", "bool", default = false, keyword = true}

local WepEncap = define("WepEncap", "encrypts wireless frames with WEP",
  {drops = {"too long"}, lengthens = WEP + CHECK}, {
    {"KEYID", "unsigned", default = 0, keyword = true, max = MOST_ID}, DEBUG, STRICT,
    {"ACTIVE", "bool", default = false, keyword = true},
  })
WepEncap.configure = configure
WepEncap.handlers.active = element.data("active", "bool")

-- A number that isn't one of those by which a key is found fastest (Fluhrer, Mantin and
-- Shamir, 2001).
local function new_iv()
  local iv = band(chance.word(), 0xffffff)
  local high = rshift(iv, 16)
  if band(iv, 0xff00) == 0xff00 and high >= 3 and high < 16 then iv = iv + 0x100 end
  return iv
end

local function is_meant(p)
  local kind, subtype = wifi.kind(p)
  return kind == wifi.DATA
    or kind == wifi.MANAGEMENT and subtype == wifi.AUTHENTICATION
end

--- Data and authentication are encrypted, if ACTIVE.
function WepEncap:process(p)
  if not self.active or not is_meant(p) then return p end
  if p.length > packet.max_payload - WEP - CHECK or not front.open(p, WEP) then
    return nil, 1
  end
  local data, iv, n = p.data, new_iv(), p.length - HEADER - WEP
  C.memmove(data, data + WEP, HEADER)
  data[1] = bor(data[1], PROTECTED)
  for k = 0, IV - 1 do data[HEADER + k] = band(rshift(iv, 8 * k), 0xff) end
  data[HEADER + IV] = self.keyid
  local text = data + HEADER + WEP
  ffi.cast("uint32_t *", text + n)[0] = C.pg_wep_check(text, n)
  crypt(self, data + HEADER, text, n + CHECK)
  p.length = p.length + CHECK
  wire.barrier()
  return p
end

-- WepDecap --------------------------------------------------------------------------

local WepDecap = define("WepDecap", "decrypts wireless frames with WEP", {}, {
  {"KEYID", "unsigned", default = 0, max = MOST_ID}, DEBUG, STRICT,
})
WepDecap.configure = configure

--- Frames that aren't encrypted, or with another key, pass unchanged. One whose check
--- value is wrong passes, too, as Click has it: decrypted but for that value.
function WepDecap:process(p)
  local data, n = p.data, p.length - HEADER - WEP - CHECK
  if n < 0 or band(data[1], PROTECTED) == 0 or data[HEADER + IV] ~= self.keyid then
    return p
  end
  local text = data + HEADER + WEP
  local check = ffi.cast("uint32_t *", text + n)
  local encrypted = check[0]
  crypt(self, data + HEADER, text, n + CHECK)
  if check[0] ~= C.pg_wep_check(text, n) then
    self:remark("crc failed keyid %d", self.keyid)
    check[0] = encrypted
    wire.barrier()
    return p
  end
  C.memmove(data + WEP, data, HEADER)
  p.length = p.length - CHECK
  front.cut(p, WEP)
  p.data[1] = band(p.data[1], 0xff - PROTECTED)
  wire.barrier()
  return p
end

return {WepEncap, WepDecap}
