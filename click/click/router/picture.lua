-- SPDX-License-Identifier: Apache-2.0
-- A flat configuration as a picture for Graphviz: an element is a box with its inputs
-- above and its outputs below (several: by their numbers), a compound element a frame
-- around its elements. Push connections are solid, pull connections dashed.

local element = require("click.element")
local hookup = require("click.router.hookup")

local picture = {}

--- The elements of the flat configuration, with their ports and what these are, and the
--- connections; nil if they don't fit together. `class_of` and `errors` as in
--- picture.text.
function picture.settle(flat, class_of, errors)
  local elements = {}
  for i, entry in ipairs(flat.elements) do
    elements[i] = element.new(class_of(entry.class), {
      name = entry.name, config = entry.config or "", landmark = entry.landmark,
    })
  end
  local before = errors.count
  local connections = hookup.count_ports(elements, flat.connections, errors)
  if errors.count == before then hookup.settle(elements, connections, errors) end
  if errors.count == before then return elements, connections end
end

-- Text -----------------------------------------------------------------------------

local LONGEST = 40 -- characters of a configuration

-- What means something in the labels of records is escaped.
local function label(text)
  return (text:gsub('[\\{}|<>"]', "\\%0"):gsub("%s+", " "))
end

local function quoted(text) return '"' .. text:gsub('[\\"]', "\\%0") .. '"' end

local function shortened(text)
  if #text <= LONGEST then return text end
  return (text:sub(1, LONGEST - 3):gsub("[\128-\255]+$", "")) .. "..."
end

-- A row of ports: "{<i0>0|<i1>1}|", or nothing for one that needs no number.
local function ports(letter, n)
  if n < 2 then return nil end
  local cells = {}
  for i = 0, n - 1 do cells[#cells + 1] = ("<%s%d>%d"):format(letter, i, i) end
  return "{" .. table.concat(cells, "|") .. "}"
end

-- What stands in an element's box.
local function words(e)
  local short = e.name:match("[^/]*$")
  local text = label(short)
  if not short:match("^" .. e.class.name .. "@%d+$") then
    text = text .. "\\n" .. label(e.class.name)
  end
  if e.config ~= "" then text = text .. "\\n" .. label(shortened(e.config)) end
  return text
end

local function node(e, text)
  local rows = {}
  rows[#rows + 1] = ports("i", e.ninputs)
  rows[#rows + 1] = text
  rows[#rows + 1] = ports("o", e.noutputs)
  return ('%s [label="{%s}"];'):format(quoted(e.name), table.concat(rows, "|"))
end

-- Compounds ------------------------------------------------------------------------

local function group_of(groups, path)
  if groups[path] then return groups[path] end
  local group = {path = path, lines = {}, groups = {}}
  groups[path] = group
  local outer = group_of(groups, path:match("^(.*)/[^/]*$") or "")
  table.insert(outer.groups, group)
  return group
end

local function write_group(lines, group, indent)
  for _, line in ipairs(group.lines) do lines[#lines + 1] = indent .. line end
  for _, inner in ipairs(group.groups) do
    lines[#lines + 1] = ("%ssubgraph %s {"):format(indent,
      quoted("cluster_" .. inner.path))
    lines[#lines + 1] = ("%s  label=%s;"):format(indent,
      quoted(inner.path:match("[^/]*$")))
    write_group(lines, inner, indent .. "  ")
    lines[#lines + 1] = indent .. "}"
  end
end

-- Connections ----------------------------------------------------------------------

local function connection(elements, c)
  local from, to = elements[c.from], elements[c.to]
  local tail, head = quoted(from.name), quoted(to.name)
  if from.noutputs > 1 then tail = ("%s:o%d"):format(tail, c.output) end
  if to.ninputs > 1 then head = ("%s:i%d"):format(head, c.input) end
  local pull = not hookup.is_push_output(from, c.output + 1)
  return ("  %s -> %s%s;"):format(tail, head,
    pull and " [style=dashed, arrowhead=empty]" or "")
end

--- The picture as text in Graphviz's language; nil if the elements don't fit together,
--- which is reported. `class_of(name)` is the class of elements of that name;
--- `label_of(i)`, if given, is what stands in the box of element i of `flat`.
function picture.text(flat, class_of, errors, label_of)
  local elements, connections = picture.settle(flat, class_of, errors)
  if not elements then return nil end
  local root = {lines = {}, groups = {}}
  local groups = {[""] = root}
  for i, e in ipairs(elements) do
    local group = group_of(groups, e.name:match("^(.*)/[^/]*$") or "")
    local text = label_of and label(label_of(i)) or words(e)
    table.insert(group.lines, node(e, text))
  end
  local lines = {"// Push connections are solid, pull connections dashed.",
    "digraph click {", "  node [shape=record, fontname=sans, fontsize=10];"}
  write_group(lines, root, "  ")
  for _, c in ipairs(connections) do lines[#lines + 1] = connection(elements, c) end
  lines[#lines + 1] = "}"
  return table.concat(lines, "\n") .. "\n"
end

return picture
