-- SPDX-License-Identifier: Apache-2.0
-- Why rewriters drop packets.

local bit = require("bit")

local note = require("click.note")

local drops = {NOT_REWRITTEN = 1, NO_MAPPING = 2, FRAGMENT = 3, NONE_FREE = 4}

--- The reasons, by those numbers.
drops.NAMES = {"not rewritten", "no mapping", "fragment without ports",
               "no port or address is free"}

local TCP, UDP = 6, 17
local NETWORK = note.NETWORK_HEADER

--- Is it a fragment of TCP or UDP behind the first one (RFC 791, section 3.1)?
function drops.lacks_ports(p)
  local network = p.note16[NETWORK]
  if network == 0 then return false end
  local ip = p.data - p.data_off + network
  return (ip[9] == TCP or ip[9] == UDP) and (bit.band(ip[6], 0x1f) ~= 0 or ip[7] ~= 0)
end

return drops
