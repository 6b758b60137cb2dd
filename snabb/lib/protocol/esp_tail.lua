-- SPDX-License-Identifier: Apache-2.0
-- The end of what ESP encrypts, behind the padding (RFC 4303, section 2).

local ffi = require("ffi")
local check = require("lib.protocol.check")
local class = require("lib.lua.class")
local fields = require("lib.protocol.fields")
local header = require("lib.protocol.header")

local esp_tail = class.subClass(header)
esp_tail._name = "esp_tail"
esp_tail:init{ffi.typeof[[
  struct { uint8_t pad_length, next_header; } __attribute__((packed))
]]}

--- A tail of `pad_length` (bytes) and `next_header`.
function esp_tail:new(config)
  if type(config) ~= "table" then check.fields("esp_tail", config) end
  local o = esp_tail:superClass().new(self)
  o:pad_length(config.pad_length)
  o:next_header(config.next_header)
  return o
end

fields.u8(esp_tail, "pad_length", "pad_length")
fields.u8(esp_tail, "next_header", "next_header")

return esp_tail
