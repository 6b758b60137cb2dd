-- SPDX-License-Identifier: Apache-2.0
-- Methods of a TCP header for its options (RFC 9293, section 3.2). Offsets count from
-- the first option byte; nothing outside the options, as DataOffset says, is read or
-- written.
local bit = require("bit")
local ffi = require("ffi")
local failure = require("core.failure")

local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift

local FIXED = 20 -- bytes of the header before its options
local EOL, NOP, MSS, WINDOW_SCALE, SACK_PERMITTED, TIMESTAMPS = 0, 1, 2, 3, 4, 8

local bytes_t = ffi.typeof("uint8_t *")

local options = {}

--- Bytes of options that the header's DataOffset tells of.
function options:getOptionsLength()
  local length = 4 * self:getDataOffset() - FIXED
  return length > 0 and length or 0
end

-- The address of the option byte at offset, with room for size bytes.
local function place(header, offset, size, name)
  if type(offset) ~= "number" then
    failure.raise("TCP option %s is set at an offset in bytes, not at a %s", name,
      type(offset))
  end
  local room = header:getOptionsLength()
  if offset < 0 or offset + size > room then
    failure.raise("no room for TCP option %s of %d bytes at offset %d: "
      .. "the header holds %d bytes of options", name, size, offset, room)
  end
  return ffi.cast(bytes_t, header) + FIXED + offset
end

local function check_number(value, name)
  if type(value) ~= "number" then
    failure.raise("TCP option %s holds a number, not a %s", name, type(value))
  end
end

local function put32(at, value)
  value = bit.tobit(value)
  at[0], at[1] = rshift(value, 24), band(rshift(value, 16), 0xff)
  at[2], at[3] = band(rshift(value, 8), 0xff), band(value, 0xff)
end

local function get32(at)
  return at[0] * 0x1000000 + bor(lshift(at[1], 16), lshift(at[2], 8), at[3])
end

-- Setters: each writes one option at offset and returns the offset after it.

--- No operation: one byte of padding.
function options:setNopOption(offset)
  place(self, offset, 1, "NOP")[0] = NOP
  return offset + 1
end

--- End of the list of options.
function options:setEolOption(offset)
  place(self, offset, 1, "EOL")[0] = EOL
  return offset + 1
end

--- Maximum segment size, in bytes (RFC 9293, section 3.7.1).
function options:setMssOption(offset, mss)
  check_number(mss, "MSS")
  local at = place(self, offset, 4, "MSS")
  at[0], at[1], at[2], at[3] = MSS, 4, band(rshift(mss, 8), 0xff), band(mss, 0xff)
  return offset + 4
end

--- Window scale: the window counts units of 2^shift bytes (RFC 7323, section 2).
function options:setWSOption(offset, shift)
  check_number(shift, "window scale")
  local at = place(self, offset, 3, "window scale")
  at[0], at[1], at[2] = WINDOW_SCALE, 3, shift
  return offset + 3
end

--- SACK permitted (RFC 2018, section 2).
function options:setSackPermittedOption(offset)
  local at = place(self, offset, 2, "SACK permitted")
  at[0], at[1] = SACK_PERMITTED, 2
  return offset + 2
end

--- Timestamps (RFC 7323, section 3).
function options:setTSOption(offset, value, echo_reply)
  check_number(value, "timestamps")
  check_number(echo_reply, "timestamps")
  local at = place(self, offset, 10, "timestamps")
  at[0], at[1] = TIMESTAMPS, 10
  put32(at + 2, value)
  put32(at + 6, echo_reply)
  return offset + 10
end

--- Fill the room from offset (default 0) to the end: NOPs, and EOL as the last byte.
-- Returns the offset of the end.
function options:fillOptions(offset)
  offset = offset or 0
  local room = self:getOptionsLength()
  while offset < room - 1 do
    offset = self:setNopOption(offset)
  end
  if offset == room - 1 then
    offset = self:setEolOption(offset)
  end
  return offset
end

--- The options as a list of {type, offset, length}; where the list goes wrong, the last
-- has a message as `error`. It ends before EOL's padding.
function options:getOptions()
  local at, room = ffi.cast(bytes_t, self) + FIXED, self:getOptionsLength()
  local list, offset = {}, 0
  while offset < room do
    local option = {type = at[offset], offset = offset, length = 1}
    list[#list + 1] = option
    if option.type == EOL then break end
    if option.type ~= NOP then
      option.length = offset + 1 < room and at[offset + 1] or 0
      if option.length < 2 or offset + option.length > room then
        option.error = "wrong length"
        break
      end
    end
    offset = offset + option.length
  end
  return list
end

-- The value bytes of an option: where (an offset, or nil for the first of its type)
-- must hold one of that type and length. nil if there is none.
local function value_of(header, where, kind, length)
  for _, option in ipairs(header:getOptions()) do
    if option.type == kind and option.length == length and not option.error
        and (where == nil or where == option.offset) then
      return ffi.cast(bytes_t, header) + FIXED + option.offset + 2
    end
  end
end

--- The MSS: of the option at the offset given, or of the first. nil if there is none.
function options:getMssOption(offset)
  local at = value_of(self, offset, MSS, 4)
  return at and bor(lshift(at[0], 8), at[1])
end

--- The window scale, as getMssOption.
function options:getWSOption(offset)
  local at = value_of(self, offset, WINDOW_SCALE, 3)
  return at and at[0]
end

--- {tsval, tsecr} of the timestamps, as getMssOption.
function options:getTSOption(offset)
  local at = value_of(self, offset, TIMESTAMPS, 10)
  return at and {tsval = get32(at), tsecr = get32(at + 4)}
end

--- "mss 1460", as getMssOption.
function options:getMssOptionString(offset)
  local mss = self:getMssOption(offset)
  return mss and "mss " .. mss
end

--- "wscale 7", as getWSOption.
function options:getWSOptionString(offset)
  local shift = self:getWSOption(offset)
  return shift and "wscale " .. shift
end

--- "TS val 1 ecr 2", as getTSOption.
function options:getTSOptionString(offset)
  local times = self:getTSOption(offset)
  return times and string.format("TS val %.0f ecr %.0f", times.tsval, times.tsecr)
end

local printers = {
  [EOL] = function() return "eol" end,
  [NOP] = function() return "nop" end,
  [SACK_PERMITTED] = function() return "sackOK" end,
  [MSS] = options.getMssOptionString,
  [WINDOW_SCALE] = options.getWSOptionString,
  [TIMESTAMPS] = options.getTSOptionString,
}
local lengths = {
  [EOL] = 1, [NOP] = 1, [MSS] = 4, [WINDOW_SCALE] = 3, [SACK_PERMITTED] = 2,
  [TIMESTAMPS] = 10,
}

--- The options in words: "mss 1460,nop,wscale 7".
function options:getOptionsString()
  local words = {}
  for i, option in ipairs(self:getOptions()) do
    if option.error then
      words[i] = string.format("option %d: %s", option.type, option.error)
    elseif lengths[option.type] == option.length then
      words[i] = printers[option.type](self, option.offset)
    else
      words[i] = string.format("option %d of %d bytes", option.type, option.length)
    end
  end
  return table.concat(words, ",")
end

return options
