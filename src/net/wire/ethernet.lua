-- SPDX-License-Identifier: Apache-2.0
-- The room that frames take on an Ethernet wire (IEEE 802.3, clauses 3.2 and 4.4.2).

local ethernet = {
  OVERHEAD = 8 + 12 + 4, -- bytes around a frame: preamble and start delimiter, gap, CRC
  SHORTEST = 60,         -- bytes without CRC: shorter ones are padded
}

--- The bits that a frame of `length` bytes (without CRC) takes on the wire.
function ethernet.bits(length)
  return 8 * (math.max(length, ethernet.SHORTEST) + ethernet.OVERHEAD)
end

return ethernet
