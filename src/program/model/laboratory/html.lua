-- SPDX-License-Identifier: Apache-2.0
-- The report as one HTML page that needs nothing else: text, tables, and the figures
-- (SVG) within it.

local page = require("lib.picture.page")

local html = {}

local FIGURES = {
  {"burst", "C_IO by burst, frames of 64 bytes"},
  {"size", "C_IO by size of frame, bursts of 32"},
  {"task", "Throughput by C_task: measured (points) and the model (lines)"},
  {"memory", "A dependent memory access, by working set"},
  {"frequency", "Throughput that the model predicts by the core's frequency"},
}

local escaped = page.escape

-- An SVG file as it may stand in a page: without its XML header. The ids in it are
-- those of this figure alone.
local function figure(file, name, caption)
  local handle = io.open(file)
  if not handle then return "" end
  local text = handle:read("*a")
  handle:close()
  text = text:gsub("^.-(<svg)", "%1"):gsub("<metadata>.-</metadata>", "")
  for _, mark in ipairs{'id="', 'href="#', "url%(#"} do
    text = text:gsub(mark, "%0" .. name .. "-")
  end
  return ("<figure>%s<figcaption>%s</figcaption></figure>\n"):format(text,
    escaped(caption))
end

-- One line a kind of port: C_IO at bursts of 32, and the error.
local function summary(result)
  local rows = {"<table><tr><th>port</th><th>C_IO, burst 1</th><th>burst 32</th>"
    .. "<th>largest burst</th><th>model's error</th></tr>"}
  for _, port in ipairs(result.ports) do
    local at = {}
    for _, cell in ipairs(port.cells) do
      if cell.size == 64 then
        at[cell.burst] = ("%.1f"):format(cell.io)
        at.last = ("%.1f (%d)"):format(cell.io, cell.burst)
      end
    end
    if port.problem then
      rows[#rows + 1] = ("<tr><td>%s</td><td colspan=4>not measured: %s</td></tr>")
        :format(escaped(port.name), escaped(port.problem))
    else
      rows[#rows + 1] = ("<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td>"
        .. "<td>%s</td></tr>"):format(escaped(port.name), at[1] or "", at[32] or "",
          at.last or "", port.error and ("%.1f %%"):format(100 * port.error) or "")
    end
  end
  rows[#rows + 1] = "</table>"
  return table.concat(rows, "\n")
end

--- The page for `result` and its `text`; figures are read from `directory`.
function html.page(result, text, directory)
  local parts = {}
  local function add(fmt, ...) parts[#parts + 1] = fmt:format(...) end
  add("<p>%s, TSC at %.3f GHz, core at %.2f times that; measured in %.0f seconds, %s. "
    .. "F<sub>CPU</sub> = T &middot; (C<sub>IO</sub> + C<sub>task</sub> + "
    .. "C<sub>busy</sub>); cycles are TSC cycles of CPU time a packet.</p>\n",
    escaped(result.cpu), result.tsc_hz / 1e9, result.core_per_tsc, result.seconds,
    escaped(result.date))
  parts[#parts + 1] = summary(result)
  for _, f in ipairs(FIGURES) do
    parts[#parts + 1] = figure(("%s/%s.svg"):format(directory, f[1]), f[1], f[2])
  end
  parts[#parts + 1] = "<h2>All figures</h2><pre>" .. escaped(text) .. "</pre>\n"
  return page.text("Where the cycles go", table.concat(parts))
end

return html
