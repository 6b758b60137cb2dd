-- SPDX-License-Identifier: Apache-2.0
-- SetCRC32 and CheckCRC32: a CRC behind packets.

local ffi = require("ffi")
local C = require("core.declare")("native/crc32.h")
local element = require("click.element")
local packet = require("core.packet")

local copy = ffi.copy
local MOST, BYTES = packet.max_payload, 4

-- SetCRC32 -------------------------------------------------------------------------

local SetCRC32 = element.define{
  name = "SetCRC32", summary = "appends a CRC to packets", drops = {"too long"},
  division = "any",
  reads = {}, lengthens = BYTES,
}

function SetCRC32:configure() self.word = ffi.new("uint32_t[1]") end

function SetCRC32:process(p)
  local n = p.length
  if n > MOST - BYTES then return nil, 1 end
  self.word[0] = C.pg_crc32_mpeg2(p.data, n)
  p.length = n + BYTES
  copy(p.data + n, self.word, BYTES)
  return p
end

-- CheckCRC32 -----------------------------------------------------------------------

local CheckCRC32 = element.define{
  name = "CheckCRC32", summary = "checks the CRC of SetCRC32, and takes it off",
  division = "any",
  drops = {"bad CRC"}, reads = {},
  differs = "It prints a line about the first packet that it drops, not about each.",
}

function CheckCRC32:configure() self.word, self.failed = ffi.new("uint32_t[1]"), 0 end

local function fail(self, p)
  if self.failed == 0 then self:say("CRC32 failed, len %d", p.length) end
  self.failed = self.failed + 1
  return nil, 1
end

function CheckCRC32:process(p)
  local n = p.length - BYTES
  if n < 0 then return fail(self, p) end
  copy(self.word, p.data + n, BYTES)
  if self.word[0] ~= C.pg_crc32_mpeg2(p.data, n) then return fail(self, p) end
  p.length = n
  return p
end

return {SetCRC32, CheckCRC32}
