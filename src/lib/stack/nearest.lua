-- SPDX-License-Identifier: Apache-2.0
-- Which of the known names a misspelt one may be meant for.

local near = {}

-- Edit distance, by the usual table of one row.
local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      diagonal, row[j] = row[j],
        math.min(row[j] + 1, row[j - 1] + 1, diagonal + cost)
    end
  end
  return row[#b]
end

--- "; is 'ethSrc' meant?" for names of the list that are near `name`; "" if none is.
function near.hint(name, names)
  local wanted, found = name:lower(), {}
  local limit = math.max(1, math.floor(#name / 3))
  for _, other in ipairs(names) do
    local d = distance(wanted, other:lower())
    if d <= limit then found[#found + 1] = {d, other} end
  end
  table.sort(found, function (a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  local texts = {}
  for i = 1, math.min(3, #found) do texts[i] = "'" .. found[i][2] .. "'" end
  if #texts == 0 then return "" end
  return "; is " .. table.concat(texts, " or ") .. " meant?"
end

return near
