-- SPDX-License-Identifier: Apache-2.0
-- A configuration as a page of HTML: its text with colours, an index of its elements,
-- and what each is connected to.

local scanner = require("click.language.scanner")

local html = {}

local STYLE = [[
body { font-family: sans-serif; }
pre { line-height: 1.3; }
.keyword { font-weight: bold; }
.class { font-style: italic; }
.config { color: green; }
.comment { color: gray; }
td { padding: 0 0.6em; vertical-align: top; }
]]

local ENTITIES = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;"}

local function escape(text) return (text:gsub('[&<>"]', ENTITIES)) end

local function span(class, text)
  return ('<span class="%s">%s</span>'):format(class, escape(text))
end

-- The text --------------------------------------------------------------------------

-- What stands between tokens: spaces, comments and # lines.
local function between(text)
  local before, comment, after = text:match("^(%s*)(.-)(%s*)$")
  return before .. (comment ~= "" and span("comment", comment) or "") .. after
end

-- A class of elements: linked to its documentation, if `class_url` says where that is.
local function class_link(name, o)
  local url = o.class_url and o.class_url(name)
  if not url then return span("class", name) end
  return ('<a class="class" href="%s">%s</a>'):format(escape(url), escape(name))
end

local KEYWORDS = {elementclass = true, require = true, provide = true, define = true}

-- Behind these a parenthesis begins a configuration string, else a group.
local CONFIGURED = {name = true, ["}"] = true, define = true, require = true,
  provide = true}

-- Is the name, between the tokens of kinds `before` and `after`, a class?
local function is_class(state, name, before, after)
  if before == "::" or before == "elementclass" then state.classes[name] = true end
  return state.classes[name] or after ~= "::" and state.o.is_class(name)
end

-- A class, an element of the file (where it is declared, it is an anchor), or something
-- else: within braces names are others' names.
local function name_text(state, name, before, after)
  local o = state.o
  if is_class(state, name, before, after) then return class_link(name, o) end
  local e = state.depth == 0 and before ~= "[" and o.elements[name]
  if not e then return escape(name) end
  if after ~= "::" and after ~= "," or o.anchors[name] then
    return ('<a href="#element-%s">%s</a>'):format(escape(name), escape(name))
  end
  o.anchors[name] = true
  return ('<a id="%s" href="#element-%s" title="%s :: %s"><b>%s</b></a>'):format(
    escape(name), escape(name), escape(name), escape(e.class), escape(name))
end

local function token_text(token)
  return KEYWORDS[token.kind] and span("keyword", token.text) or escape(token.text)
end

local DEEPER = {["{"] = 1, ["}"] = -1}

-- The text with its colours; see html.page for `o`.
local function coloured(o)
  local text, parts, at = o.text, {}, 1
  local scan = scanner.new(text, o.file, o.errors)
  local state = {o = o, depth = 0, classes = {}}
  local before, name -- a name waits until the next token is known
  local function out(piece) parts[#parts + 1] = piece end
  while true do
    local token = scan:next()
    local gap = between(text:sub(at, token.start - 1))
    if name then
      out(name_text(state, name, before, token.kind))
      before, name = "name", nil
    end
    out(gap)
    if token.kind == "end" then break end
    at = token.start + #token.text
    if token.kind == "name" then
      name = token.text
    else
      out(token_text(token))
      if token.kind == "(" and CONFIGURED[before] then
        scan:config()
        out(span("config", text:sub(at, scan.at - 1)))
        at = scan.at
      end
      state.depth = state.depth + (DEEPER[token.kind] or 0)
      before = token.kind
    end
  end
  return table.concat(parts)
end

-- Elements --------------------------------------------------------------------------

local function link_to(name)
  return ('<a href="#element-%s">%s</a>'):format(escape(name), escape(name))
end

local function in_order(elements)
  local list = {}
  for i, e in ipairs(elements) do list[i] = e end
  table.sort(list, function (a, b)
    local x, y = a.name:lower(), b.name:lower()
    if x ~= y then return x < y end
    return a.name < b.name
  end)
  return list
end

-- A row for each connection of one side of an element. `kind(e, is_output, port)` says
-- "push" or "pull", if that is known.
local function rows(flat, i, is_output, kind)
  local list = {}
  for _, c in ipairs(flat.connections) do
    local own = is_output and c.from or c.to
    if own == i then
      local port, far = c.input, c.from
      local far_port = ("%s [%d]"):format(link_to(flat.elements[far].name), c.output)
      if is_output then
        port, far = c.output, c.to
        far_port = ("[%d] %s"):format(c.input, link_to(flat.elements[far].name))
      end
      local how = kind(i, is_output, port)
      list[#list + 1] = {port, ("<tr><td>%s</td><td>%d</td><td>%s</td><td>%s</td>"
        .. "<td>%s</td></tr>"):format(is_output and "output" or "input", port,
        how or "", is_output and "-&gt;" or "&lt;-", far_port)}
    end
  end
  table.sort(list, function (a, b) return a[1] < b[1] end)
  for k, row in ipairs(list) do list[k] = row[2] end
  if #list == 0 then
    list[1] = ('<tr><td colspan="5">no %s</td></tr>'):format(
      is_output and "outputs" or "inputs")
  end
  return table.concat(list, "\n")
end

local function element_table(flat, i, o)
  local e = flat.elements[i]
  local name = o.anchors[e.name] and ('<a href="#%s"><b>%s</b></a>'):format(
    escape(e.name), escape(e.name)) or "<b>" .. escape(e.name) .. "</b>"
  return ('<p id="element-%s">%s :: %s%s</p>\n<table>\n%s\n%s\n</table>'):format(
    escape(e.name), name, class_link(e.class, o),
    e.config ~= "" and "(" .. span("config", e.config) .. ")" or "",
    rows(flat, i, false, o.kind), rows(flat, i, true, o.kind))
end

local function index(flat)
  local lines = {}
  for _, e in ipairs(in_order(flat.elements)) do
    lines[#lines + 1] = ("<tr><td>%s</td><td>%s</td></tr>"):format(link_to(e.name),
      escape(e.class))
  end
  return table.concat(lines, "\n")
end

--- The page. `o`: text and file (its name) of the configuration, flat (the same, as
--- click.language reads it), errors, kind(element, is_output, port), which says "push",
--- "pull" or nil of a port (the element by its number in flat, the port from 0), and
--- is_class(name), and class_url(class), where the documentation of a class is, or nil.
function html.page(o)
  o.elements, o.anchors = {}, {}
  for _, e in ipairs(o.flat.elements) do o.elements[e.name] = e end
  local text = coloured(o)
  local tables, place = {}, {}
  for i, e in ipairs(o.flat.elements) do place[e] = i end
  for _, e in ipairs(in_order(o.flat.elements)) do
    tables[#tables + 1] = element_table(o.flat, place[e], o)
  end
  return table.concat({
    "<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
    "<title>" .. escape(o.file) .. "</title>",
    "<style>\n" .. STYLE .. "</style></head>",
    "<body>", "<h1>Configuration</h1>",
    "<pre>" .. text .. "</pre>",
    "<h1>Element index</h1>", "<table>", index(o.flat), "</table>",
    "<h1>Element tables</h1>", table.concat(tables, "\n"), "</body></html>", "",
  }, "\n")
end

return html
