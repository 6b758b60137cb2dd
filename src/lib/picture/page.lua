-- SPDX-License-Identifier: Apache-2.0
-- Reports as one HTML page that needs nothing else: no script, no other file. Pure.

local svg = require("lib.picture.svg")

local page = {}

local STYLE = [[body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;
padding:0 1em;color:#222}
pre{background:#f4f4f4;padding:1em;overflow-x:auto;font-size:13px}
figure{margin:2em 0}figcaption{font-size:14px;color:#555}svg{max-width:100%;height:auto}
table{border-collapse:collapse}td,th{padding:.2em .8em;border-bottom:1px solid #ccc;
text-align:right}td:first-child,th:first-child{text-align:left}]]

--- The text as it may stand in the page.
page.escape = svg.escape

--- A table: `head` is a list of texts, `rows` a list of such.
function page.table(head, rows)
  local lines = {}
  local function add(cells, tag)
    local row = {}
    for i, cell in ipairs(cells) do
      row[i] = ("<%s>%s</%s>"):format(tag, page.escape(cell), tag)
    end
    lines[#lines + 1] = "<tr>" .. table.concat(row) .. "</tr>"
  end
  add(head, "th")
  for _, row in ipairs(rows) do add(row, "td") end
  return "<table>\n" .. table.concat(lines, "\n") .. "\n</table>\n"
end

--- A figure: SVG and what stands below it.
function page.figure(picture, caption)
  return ("<figure>%s<figcaption>%s</figcaption></figure>\n"):format(picture,
    page.escape(caption))
end

--- The whole page: a title, and `body` in HTML.
function page.text(title, body)
  title = page.escape(title)
  return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    .. "<title>%s</title><style>%s</style></head><body>\n<h1>%s</h1>\n%s"
    .. "</body></html>\n"):format(title, STYLE, title, body)
end

return page
