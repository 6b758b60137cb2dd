-- SPDX-License-Identifier: Apache-2.0
-- A configuration as a page of HTML: a template (click.pages.template) with its text in
-- colours, an index of its elements, and what each is connected to.

local colours = require("click.pages.colours")
local markup = require("lib.markup")
local template = require("click.pages.template")

local html = {}

--- The template that is used if there is no other.
html.TEMPLATE = [[
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<title><~title></title>
<style>
body { font-family: sans-serif; }
pre { line-height: 1.3; }
.c-kw { font-weight: bold; }
.c-cd { font-style: italic; }
.c-ed { font-weight: bold; }
.c-cfg { color: green; }
.c-cmt { color: gray; }
td { padding: 0 0.6em; vertical-align: top; }
</style></head>
<body>
<h1>Configuration</h1>
<~config>
<h1>Element index</h1>
<table>
<~elements sep="
" entry='<tr><td><a href="#et-<~name>"><~name></a></td><td><~type></td></tr>'
  typeentry='<tr><td><~type link></td><td><~typerefs sep=", "></td></tr>'
  typeref='<a href="#et-<~name>"><~name></a>'>
</table>
<h1>Element tables</h1>
<~elements sep="
" entry='<p id="et-<~name>"><b><~name link></b> :: <~type link><~config parens></p>
<table>
<~inputs sep="
">
<~outputs sep="
">
</table>'
  inputentry='<tr><td>input</td><td><~port></td><td><~processing></td>
    <td>&lt;-</td><td><~inputconnections sep=", "></td></tr>'
  noinputentry='<tr><td colspan="5">no inputs</td></tr>'
  inputconnection='<a href="#et-<~name>"><~name></a> [<~port>]'
  noinputconnection='not connected'
  outputentry='<tr><td>output</td><td><~port></td><td><~processing></td>
    <td>-&gt;</td><td><~outputconnections sep=", "></td></tr>'
  nooutputentry='<tr><td colspan="5">no outputs</td></tr>'
  outputconnection='[<~port>] <a href="#et-<~name>"><~name></a>'
  nooutputconnection='not connected'>
</body></html>
]]

--- The page. `o`: text and file (its name) of the configuration, flat (the same, as
--- click.language reads it), errors, kind(element, is_output, port), which says "push",
--- "pull" or nil of a port (the element by its number in flat, the port from 0), and
--- is_class(name), and class_url(class), where the documentation of a class is, or nil;
--- template (html.TEMPLATE), and defines, texts of further tags by their names.
function html.page(o)
  o.elements, o.anchors, o.escape = {}, {}, markup.escape
  for _, e in ipairs(o.flat.elements) do o.elements[e.name] = e end
  local text = colours.text(o)
  o.page_tags = {
    config = function () return "<pre>" .. text .. "</pre>" end,
    title = function () return o.escape(o.file) end,
  }
  return template.expand(o.template or html.TEMPLATE, o)
end

return html
