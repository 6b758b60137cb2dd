-- SPDX-License-Identifier: Apache-2.0
-- Plots of values over values as SVG 1.1: lines with points, axes with round numbers.
-- Pure.

local escape = require("lib.picture.svg").escape

local plot = {}

-- Pixels.
local WIDTH, HEIGHT = 640, 320
local LEFT, RIGHT, TOP, BOTTOM = 76, 150, 16, 48
local LEGEND_ROW = 18

local STEPS = 6 -- of an axis, about
local MOST_DOTS = 60 -- a line of more points has none
local COLOURS = {"#1f6fb2", "#d1622b", "#3a8f4d", "#8a4fa8", "#b8912f", "#4a9c9c",
                 "#a83b57", "#666"}

local STYLE = "text{font:12px sans-serif;fill:#333}.grid{stroke:#ddd}"
  .. ".axis{stroke:#555}.line{fill:none;stroke-width:1.8}"

-- The least of 1, 2 and 5 times a power of ten that is no less than x.
local function round_up(x)
  local power = 10 ^ math.floor(math.log10(x))
  for _, n in ipairs{1, 2, 5} do
    if n * power >= x * (1 - 1e-9) then return n * power end
  end
  return 10 * power
end

-- The round numbers from 0 to the first that isn't below `most`, or 1.
local function ticks(most)
  if most <= 0 then most = 1 end
  local step, list = round_up(most / STEPS), {0}
  while list[#list] < most * (1 - 1e-9) do list[#list + 1] = #list * step end
  return list
end

local function greatest(series, key)
  local most = 0
  for _, s in ipairs(series) do
    for _, point in ipairs(s.points) do most = math.max(most, point[key]) end
  end
  return most
end

local PREFIXES = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}

-- 2500000 is "2.5M".
local function short(n)
  for _, prefix in ipairs(PREFIXES) do
    if n >= prefix[1] then return ("%.4g%s"):format(n / prefix[1], prefix[2]) end
  end
  return ("%.3g"):format(n)
end

local function text(x, y, content, more)
  return ('<text x="%.1f" y="%.1f"%s>%s</text>'):format(x, y, more or "",
    escape(content))
end

local function line(class, x1, y1, x2, y2)
  return ('<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>'):format(class,
    x1, y1, x2, y2)
end

local function axes(add, x_of, y_of, xs, ys, options)
  for _, y in ipairs(ys) do
    add(line("grid", LEFT, y_of(y), WIDTH - RIGHT, y_of(y)))
    add(text(LEFT - 8, y_of(y) + 4, short(y), ' text-anchor="end"'))
  end
  for _, x in ipairs(xs) do
    add(line("axis", x_of(x), HEIGHT - BOTTOM, x_of(x), HEIGHT - BOTTOM + 5))
    add(text(x_of(x), HEIGHT - BOTTOM + 18, short(x), ' text-anchor="middle"'))
  end
  add(line("axis", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM))
  add(line("axis", LEFT, TOP, LEFT, HEIGHT - BOTTOM))
  add(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, options.x,
    ' text-anchor="middle"'))
  add(text(0, 0, options.y, (' text-anchor="middle" transform="translate(16 %d) '
    .. 'rotate(-90)"'):format((TOP + HEIGHT - BOTTOM) / 2)))
end

local function draw(add, s, x_of, y_of, colour, row)
  local places = {}
  for i, point in ipairs(s.points) do
    local x, y = x_of(point[1]), y_of(point[2])
    places[i] = ("%.1f,%.1f"):format(x, y)
    if #s.points <= MOST_DOTS then
      add(('<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>'):format(x, y, colour))
    end
  end
  add(('<polyline class="line" stroke="%s" points="%s"/>'):format(colour,
    table.concat(places, " ")))
  local y = TOP + row * LEGEND_ROW
  add(('<rect x="%d" y="%d" width="12" height="3" fill="%s"/>'):format(
    WIDTH - RIGHT + 14, y - 5, colour))
  add(text(WIDTH - RIGHT + 32, y, s.name))
end

--- A plot of `series`, a list of {name =, points = a list of {x, y}, both at least 0}.
--- `options`: x and y name the axes, which begin at 0.
function plot.text(series, options)
  local xs, ys = ticks(greatest(series, 1)), ticks(greatest(series, 2))
  local function x_of(x) return LEFT + (WIDTH - LEFT - RIGHT) * x / xs[#xs] end
  local function y_of(y)
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / ys[#ys]
  end
  local lines = {("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\""
    .. " viewBox=\"0 0 %d %d\"><style>%s</style>"):format(WIDTH, HEIGHT, WIDTH, HEIGHT,
    STYLE)}
  local function add(item) lines[#lines + 1] = item end
  axes(add, x_of, y_of, xs, ys, options)
  for i, s in ipairs(series) do
    draw(add, s, x_of, y_of, COLOURS[(i - 1) % #COLOURS + 1], i)
  end
  add("</svg>")
  return table.concat(lines, "\n")
end

return plot
