-- SPDX-License-Identifier: Apache-2.0
-- Which of the known names a misspelt one may be meant for.

local spelling = {}

-- How many letters must be put in, left out, changed, or swapped with the next one to
-- make `b` of `a` (optimal string alignment), by its usual table.
local function distance(a, b)
  local before, above, row = {}, {}, {}
  for j = 0, #b do above[j] = j end
  for i = 1, #a do
    local letter, previous = a:byte(i), a:byte(i - 1)
    row[0] = i
    for j = 1, #b do
      local d = math.min(above[j] + 1, row[j - 1] + 1,
        above[j - 1] + (letter == b:byte(j) and 0 or 1))
      if i > 1 and j > 1 and letter == b:byte(j - 1) and previous == b:byte(j) then
        d = math.min(d, before[j - 2] + 1)
      end
      row[j] = d
    end
    before, above, row = above, row, before
  end
  return above[#b]
end

--- "; is 'ethSrc' meant?" for names of the list that are near `name`; "" if none is.
function spelling.hint(name, names)
  local wanted, found, seen = name:lower(), {}, {}
  local limit = math.max(1, math.floor(#name / 3))
  for _, other in ipairs(names) do
    local close = math.abs(#wanted - #other) <= limit -- or the distance is more, too
    local d = close and distance(wanted, other:lower()) or math.huge
    if d == 0 then limit = 0 end
    if d <= limit and not seen[other] then found[#found + 1] = {d, other} end
    seen[other] = true
  end
  table.sort(found, function (a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  local texts = {}
  for i = 1, math.min(3, #found) do
    if found[i][1] <= limit then texts[i] = "'" .. found[i][2] .. "'" end
  end
  if #texts == 0 then return "" end
  return "; is " .. table.concat(texts, " or ") .. " meant?"
end

return spelling
