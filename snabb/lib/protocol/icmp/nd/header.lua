-- SPDX-License-Identifier: Apache-2.0
-- What the messages of neighbour discovery have in common: options behind them
-- (RFC 4861, section 4.6).

local check = require("lib.protocol.check")
local class = require("lib.lua.class")
local header = require("lib.protocol.header")
local tlv = require("lib.protocol.icmp.nd.options.tlv")

local nd_header = class.subClass(header)

local UNIT = 8 -- bytes: an option's length counts these

--- The options in the `size` bytes at `memory`, a list of options.tlv. Unknown ones
--- are left out. When the bytes are no sequence of options the list is empty, and the
--- second result says why.
function nd_header:options(memory, size)
  if type(memory) ~= "cdata" or tonumber(memory) or type(size) ~= "number" then
    size = check.memory(memory, size)
  end
  local options = {}
  while size > 0 do
    if size < UNIT then return {}, "an option is cut short" end
    local length = memory[1] * UNIT
    if length == 0 then return {}, "an option has length 0" end
    if length > size then return {}, "an option is cut short" end
    if tlv.is_known(memory[0], length) then
      options[#options + 1] = tlv:new_from_mem(memory, length)
    end
    memory, size = memory + length, size - length
  end
  return options
end

return nd_header
