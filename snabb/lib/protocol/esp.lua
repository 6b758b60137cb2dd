-- SPDX-License-Identifier: Apache-2.0
-- ESP headers (RFC 4303, section 2).

local ffi = require("ffi")
local check = require("lib.protocol.check")
local class = require("lib.lua.class")
local fields = require("lib.protocol.fields")
local header = require("lib.protocol.header")

local esp = class.subClass(header)
esp._name = "esp"
esp:init{ffi.typeof("struct { uint32_t spi, seq_no; } __attribute__((packed))")}

--- A header of `spi` and `seq_no`.
function esp:new(config)
  if type(config) ~= "table" then check.fields("esp", config) end
  local o = esp:superClass().new(self)
  o:spi(config.spi)
  o:seq_no(config.seq_no)
  return o
end

fields.u32(esp, "spi", "spi")
fields.u32(esp, "seq_no", "seq_no")

return esp
