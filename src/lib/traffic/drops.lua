-- SPDX-License-Identifier: Apache-2.0
-- Packets that were lost, by reason, as reports say them.

local lib = require("core.lib")

local function commas(n) return lib.comma_value(("%.0f"):format(n)) end

--- Of a list of {name, count}: a text such as "3 (1 longer than 10,240 bytes, 2 too
--- short for the port)", and the sum.
return function (list)
  local total, parts = 0, {}
  for _, drop in ipairs(list) do
    if drop.count > 0 then
      total = total + drop.count
      parts[#parts + 1] = commas(drop.count) .. " " .. drop.name
    end
  end
  local detail = #parts > 0 and " (" .. table.concat(parts, ", ") .. ")" or ""
  return commas(total) .. detail, total
end
