-- SPDX-License-Identifier: Apache-2.0
-- `--plot FILE` of programs that measure: their figures as a file that stands alone, a
-- picture (SVG) or a page (HTML), by its name's ending.

local cli = require("lib.cli")
local files = require("core.lib.files")
local page = require("lib.picture.page")
local plot = require("lib.picture.plot")

local plot_file = {}

local HEIGHT, HEADING = 320, 34 -- pixels of a figure (lib.picture.plot), and above it

local function output(path)
  if not path:match("%.svg$") and not path:match("%.html$") then
    return nil, ("'%s': the file's name ends in .svg or .html"):format(path)
  end
  return cli.result_file(path)
end

--- Add the option to the parser `p`; `what` says what is drawn.
function plot_file.option(p, what)
  p:option("--plot", ("Draw %s: a picture, FILE.svg, or a page, FILE.html."):format(
    what)):argname("FILE"):convert(output)
end

-- Only what has points is drawn.
local function drawn(figures)
  local list = {}
  for _, figure in ipairs(figures) do
    local series = {}
    for _, s in ipairs(figure.series) do
      if #s.points > 0 then series[#series + 1] = s end
    end
    if #series > 0 then
      list[#list + 1] = {title = figure.title, caption = figure.caption,
        svg = plot.text(series, figure)}
    end
  end
  return list
end

local function svg_text(title, figures)
  local height = HEADING + #figures * (HEIGHT + HEADING)
  local lines = {('<svg xmlns="http://www.w3.org/2000/svg" width="640" height="%d" '
    .. 'viewBox="0 0 640 %d"><style>.t{font:bold 14px sans-serif;fill:#222}</style>'
    .. '<rect width="640" height="%d" fill="#fff"/><text class="t" x="16" y="22">%s'
    .. "</text>"):format(height, height, height, page.escape(title))}
  for i, figure in ipairs(figures) do
    local y = HEADING + (i - 1) * (HEIGHT + HEADING)
    lines[#lines + 1] = ('<text x="16" y="%d">%s</text>'):format(y + 20,
      page.escape(figure.title))
    lines[#lines + 1] = (figure.svg:gsub("^<svg ",
      ('<svg y="%d" '):format(y + HEADING)))
  end
  lines[#lines + 1] = "</svg>\n"
  return table.concat(lines, "\n")
end

local function html_text(title, figures, head, rows)
  local parts = {}
  if rows then parts[1] = page.table(head, rows) end
  for _, figure in ipairs(figures) do
    parts[#parts + 1] = ("<h2>%s</h2>\n"):format(page.escape(figure.title))
      .. page.figure(figure.svg, figure.caption or "")
  end
  return page.text(title, table.concat(parts))
end

--- Write figures to `path`: a list of {title =, series = a list of {name =, points =},
--- x =, y = the axes' names (lib.picture.plot), caption =}. A page begins with the
--- table of `head` and `rows` (lib.picture.page), if given. Nothing is done without a
--- path. Raises a failure if it can't be written.
function plot_file.write(path, title, figures, head, rows)
  if not path then return end
  local list = drawn(figures)
  files.save(path, path:match("%.svg$") and svg_text(title, list)
    or html_text(title, list, head, rows))
end

return plot_file
