-- SPDX-License-Identifier: Apache-2.0
-- Functions of x from text: "10 + min(90, 10*x)". There are + - * / % ^, parentheses,
-- numbers, pi and e, and the functions below.

local expressions = {}

local function squarewave(x) return math.sin(x) >= 0 and 1 or -1 end

local NAMES = {
  pi = math.pi, e = math.exp(1), abs = math.abs, acos = math.acos, asin = math.asin,
  atan = math.atan, atan2 = math.atan2, ceil = math.ceil, cos = math.cos,
  cosh = math.cosh, exp = math.exp, floor = math.floor, ln = math.log,
  log = math.log10, log10 = math.log10, max = math.max, min = math.min,
  pow = function (a, b) return a ^ b end, sin = math.sin, sinh = math.sinh,
  sqrt = math.sqrt, squarewave = squarewave, tan = math.tan, tanh = math.tanh,
}

-- Is all of it made of what Lua reads in the same way, and of known names?
local function is_plain(text)
  if text:gsub("[%w%s_.,()+%-*/%%^]", "") ~= "" or text:find("--", 1, true)
      or text:find("..", 1, true) then
    return false
  end
  for name in text:gsub("%d[%w.]*", ""):gmatch("[%a_][%w_]*") do
    if name ~= "x" and NAMES[name] == nil then return false end
  end
  return true
end

--- The function f(x) that `text` stands for, or nil.
function expressions.compile(text)
  local chunk = is_plain(text) and loadstring("local x = ... return " .. text)
  if not chunk then return nil end
  setfenv(chunk, NAMES)
  local function f(x)
    local ok, value = pcall(chunk, x)
    return ok and tonumber(value) or nil
  end
  return f(0) and f or nil
end

return expressions
