-- SPDX-License-Identifier: Apache-2.0
-- The picture of a graph (lib.picture.layout) as SVG 1.1. Apps, links and regions have
-- classes and data- attributes, by which a page finds and changes them. Pure.

local layout = require("lib.picture.layout")
local markup = require("lib.markup")

local svg = {}

local BEND = 60       -- pixels: how far a line goes straight on before it bends

--- How a picture that stands alone looks.
svg.STYLE = [[
.app rect { fill: #fff; stroke: #345; stroke-width: 1.2 }
.app.cpu0 rect { fill: #eef4fb } .app.cpu1 rect { fill: #fdf3e3 }
.app.cpu2 rect { fill: #eaf7ea } .app.cpu3 rect { fill: #f7eaf4 }
.region rect { fill: #f4f6f8; stroke: #9ab; stroke-dasharray: 4 3 }
.link path { fill: none; stroke: #567; stroke-width: 1.4 }
text { font: 12px sans-serif; fill: #123 }
.class, .end, .region text, .cpu { font-size: 10px; fill: #678 }
.name { font-weight: bold }
]]

--- The text as it may stand in XML and HTML.
function svg.escape(text)
  return (markup.escape(tostring(text)):gsub("[%c\127]", "?"))
end

local escape = svg.escape

local function text(class, x, y, content, anchor)
  return ('<text class="%s" x="%.1f" y="%.1f"%s>%s</text>'):format(class, x, y,
    anchor and (' text-anchor="%s"'):format(anchor) or "", escape(content))
end

local function rect(box, radius)
  return ('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%d"/>'):format(box.x,
    box.y, box.width, box.height, radius)
end

local function region(box, of_graph)
  local cpu = of_graph.cpu and (", CPU %d"):format(of_graph.cpu) or ""
  return ('<g class="region" data-region="%d">%s%s</g>'):format(box.number,
    rect(box, 8), text("title", box.x + 8, box.y + 13,
      ("region %d%s"):format(box.number, cpu)))
end

-- What is written of an app below it: where packets go `down`, at its left, since lines
-- leave it in the middle.
local function live(box, down)
  local y = box.y + box.height + 11
  if down then return text("live", box.x, y, "", "start") end
  return text("live", box.x + box.width / 2, y, "", "middle")
end

local function app(box, shade, down)
  local x, y = box.x + box.width / 2, box.y
  local cpu = box.app.cpu
  return ('<g class="app%s%s" data-app="%s">%s%s %s %s %s</g>'):format(
    box.app.members and " fold" or "", cpu and " cpu" .. shade[cpu] % 4 or "",
    escape(box.app.name), rect(box, 5),
    text("name", x, y + 18, box.app.name, "middle"),
    text("class", x, y + 33, box.title, "middle"),
    cpu and text("cpu", box.x + box.width - 4, y + 10, "CPU " .. cpu, "end") or "",
    live(box, down))
end

-- A curve from point to point; lanes are straight.
local function path(link)
  local points = link.points
  local parts = {("M%.1f,%.1f"):format(unpack(points[1]))}
  for i = 2, #points do
    local a, b = points[i - 1], points[i]
    if #points == 4 and i == 3 then
      parts[#parts + 1] = ("L%.1f,%.1f"):format(unpack(b))
    else
      local turned = link.back and BEND or math.min(BEND, math.abs(b[1] - a[1]) / 2)
      local out = i == 2 and 1 or link.back and -1 or 1
      local into = i == #points and 1 or link.back and -1 or 1
      parts[#parts + 1] = ("C%.1f,%.1f %.1f,%.1f %.1f,%.1f"):format(
        a[1] + out * turned, a[2], b[1] - into * turned, b[2], b[1], b[2])
    end
  end
  return table.concat(parts, " ")
end

-- A link's rate: over the line, or beside one that goes `down`.
local function rate(middle, down)
  if down then return text("rate", middle[1] + 5, middle[2] + 8, "", "start") end
  return text("rate", middle[1], middle[2] - 5, "", "middle")
end

local function link_group(link, down)
  local first, last = link.points[1], link.points[#link.points]
  local second = link.points[2]
  local l, d = link.link, link.path or path(link)
  local middle = link.middle
    or {(first[1] + second[1]) / 2, (first[2] + second[2]) / 2}
  local near = link.near or first
  local ends = link.tells_output
    and text("end", near[1] + 3, near[2] - 4, l.output) or ""
  if link.tells_input then
    ends = ends .. " " .. text("end", last[1] - 8, last[2] - 4, l.input, "end")
  end
  return ('<g class="link" data-link="%s"><path class="hit" d="%s"/><path class="line" '
    .. 'd="%s" marker-end="url(#arrow)"/>%s %s</g>'):format(escape(l.link), d, d, ends,
    rate(middle, down))
end

-- Which ends of links have names: not those that are called as all are, nor Click's 0
-- where there is no other.
local function name_ends(links)
  local others = {from = {}, to = {}}
  for _, link in ipairs(links) do
    local l = link.link
    if l.output ~= "0" then others.from[l.from] = true end
    if l.input ~= "0" then others.to[l.to] = true end
  end
  for _, link in ipairs(links) do
    local l = link.link
    link.tells_output = l.output ~= "output"
      and (l.output ~= "0" or others.from[l.from])
    link.tells_input = l.input ~= "input" and (l.input ~= "0" or others.to[l.to])
  end
end

--- The picture of `graph` (lib.observe.graph.describe) as text. With `bare` without a
--- style of its own, for a page that has one. `picture` is where all is, as layout.of
--- and graphviz.read give it (default: layout.of).
function svg.text(graph, bare, picture)
  local lines = {}
  picture = picture or layout.of(graph)
  local function add(line) lines[#lines + 1] = line end
  add(('<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" '
    .. 'viewBox="0 0 %.0f %.0f"%s>'):format(picture.width, picture.height,
    picture.width, picture.height, picture.down and ' data-down="yes"' or ""))
  add(bare and "" or "<style>" .. svg.STYLE .. ".hit { stroke: none }</style>")
  add('<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" '
    .. 'markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">'
    .. '<path d="M0,0 L8,4 L0,8 z"/></marker></defs>')
  local shade, shades = {}, 0
  for _, one in ipairs(graph.apps) do
    local cpu = one.cpu
    if cpu and not shade[cpu] then shade[cpu], shades = shades, shades + 1 end
  end
  for _, box in ipairs(picture.regions) do
    add(region(box, graph.regions[box.number]))
  end
  name_ends(picture.links)
  for _, link in ipairs(picture.links) do add(link_group(link, picture.down)) end
  for _, box in ipairs(picture.apps) do add(app(box, shade, picture.down)) end
  add("</svg>")
  return table.concat(lines, "\n") .. "\n"
end

return svg
