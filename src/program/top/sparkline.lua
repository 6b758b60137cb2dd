-- SPDX-License-Identifier: Apache-2.0
-- A line of small bars: the newest values of a list, the last at the right. Pure, but
-- for the locale.

local sparkline = {}

local BARS = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
local PLAIN = {"_", ".", ":", "-", "=", "+", "*", "#"} -- where there is no UTF-8

-- Does the terminal's locale have UTF-8?
local function has_utf8()
  for _, name in ipairs{"LC_ALL", "LC_CTYPE", "LANG"} do
    local value = os.getenv(name) or ""
    if value ~= "" then return value:lower():find("utf%-?8") ~= nil end
  end
  return false
end

--- The last `width` of `values` as bars from 0 to the greatest of them, and that.
--- Where there are fewer, spaces come first. `utf8` (default: as the locale has it):
--- with characters for bars, which have three bytes each.
function sparkline.text(values, width, utf8)
  local bars = (utf8 == nil and has_utf8() or utf8) and BARS or PLAIN
  local first, most = math.max(1, #values - width + 1), 0
  for i = first, #values do most = math.max(most, values[i]) end
  local parts = {(" "):rep(width - (#values - first + 1))}
  for i = first, #values do
    local step = most > 0 and math.ceil(values[i] / most * (#bars - 1)) or 0
    parts[#parts + 1] = bars[math.max(0, math.min(#bars - 1, step)) + 1]
  end
  return table.concat(parts), most
end

return sparkline
