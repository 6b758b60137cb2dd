-- SPDX-License-Identifier: Apache-2.0
-- What became of numbered packets: lost, doubled or out of order. A window of the last
-- numbers distinguishes a late packet from a duplicate.

local ffi = require("ffi")

local band = bit.band

local M = {}

--- Numbers back from the highest that are remembered: of one further behind, nobody
--- can say any more whether it has come before.
M.WINDOW = 65536
local WINDOW = M.WINDOW
local MASK = WINDOW - 1

-- Numbers are doubles, exact up to 2^53. A slot holds the round (number / WINDOW, and
-- 1) of the number that came last of those that share it, so that nothing has to be
-- cleared when the window moves on.
ffi.cdef [[
struct perigee_sequence {
  double next;        /* the highest number that came, and 1; 0: none came */
  double first;       /* the lowest */
  double distinct;    /* numbers that came, each counted once */
  double duplicates;
  double reordered;
  double too_late;    /* behind the window: late or doubled */
  uint32_t seen[65536];
};
]]

--- A new record, before the first packet.
function M.new()
  return ffi.new("struct perigee_sequence", {first = math.huge})
end

local function behind(s, number, slot, round)
  if number < s.next - WINDOW then
    s.too_late = s.too_late + 1
  elseif s.seen[slot] == round then
    s.duplicates = s.duplicates + 1
  else
    s.seen[slot] = round
    s.distinct = s.distinct + 1
    s.reordered = s.reordered + 1
    if number < s.first then s.first = number end
  end
end

--- Count the packet of that number, a whole number from 0. It is reordered if its
--- number is below one that has come (RFC 4737, section 3.3); a copy of a packet that
--- has come is a duplicate and nothing else (there too).
function M.add(s, number)
  local slot = band(number, MASK)
  local round = (number - slot) / WINDOW + 1
  if number >= s.next then
    s.seen[slot] = round
    s.next = number + 1
    s.distinct = s.distinct + 1
    if number < s.first then s.first = number end
  else
    behind(s, number, slot, round)
  end
end

--- How many numbers, from the lowest that came to the highest, didn't come; of those
--- below `sent` where the number of packets that were sent is known.
function M.lost(s, sent)
  if sent then return math.max(sent - s.distinct, 0) end
  return s.next > 0 and s.next - s.first - s.distinct or 0
end

return M
