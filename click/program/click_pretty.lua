-- SPDX-License-Identifier: Apache-2.0
-- `perigee click-pretty`: a configuration as a page of HTML, or as a graph.

local errors = require("click.errors")
local files = require("core.lib.files")
local filter = require("program.click.filter")
local graph = require("click.pages.graph")
local hookup = require("click.router.hookup")
local html = require("click.pages.html")
local picture = require("click.router.picture")
local registry = require("click.registry")
local source = require("program.click.source")
local template = require("click.pages.template")

local M = {summary = "write a Click configuration as a page of HTML"}

local SPECS = filter.options{
  {names = {"template"}, letter = "t", value = "FILE", field = "template",
    help = "Fill in FILE, in the place of the usual page."},
  {names = {"template-text"}, letter = "T", value = "TEXT", field = "template_text",
    help = "Fill in TEXT."},
  {names = {"define"}, letter = "d", value = "NAME=TEXT", field = "defines",
    list = true, help = "The template's tag <~NAME> stands for TEXT."},
  {names = {"write-template"}, field = "write_template",
    help = "Write the template as it is."},
  {names = {"class-docs"}, letter = "u", value = "URL", field = "class_docs",
    help = "Link element classes to URL, with %s for the class."},
  {names = {"dot"}, field = "dot", help = "Draw it for Graphviz, instead."},
  {names = {"gml"}, field = "gml", help = "Write it as a graph in GML, instead."},
  {names = {"graphml"}, field = "graphml",
    help = "Write it as a graph in GraphML, instead."},
  {names = {"bsdmodule"}, letter = "b", field = "driver", help = "Takes no effect."},
  {names = {"linuxmodule"}, letter = "l", field = "driver", help = "Takes no effect."},
  {names = {"userlevel"}, field = "driver", help = "Takes no effect."},
}

-- What says whether ports push or pull; it says nothing if elements don't fit together.
local function kinds_of(flat, reporter)
  local known = true
  for _, e in ipairs(flat.elements) do
    if not registry.find(e.class) then
      reporter:at(e.landmark):warning("unknown element class '%s'", e.class)
      known = false
    end
  end
  local elements = known and picture.settle(flat, registry.find, reporter)
  return function (i, is_output, port)
    local e = elements and elements[i]
    if not e then return nil end
    local pushes = is_output and hookup.is_push_output(e, port + 1)
      or not is_output and not hookup.is_pull_input(e, port + 1)
    return pushes and "push" or "pull"
  end
end

local function class_url_of(pattern)
  if not pattern then return nil end
  return function (class)
    if not pattern:find("%s", 1, true) then return pattern .. class end
    return (pattern:gsub("%%s", function () return class end))
  end
end

-- The drawing; in the boxes is the template, if there is one.
local function dot(page, reporter)
  if not page.template then return picture.text(page.flat, registry.find, reporter) end
  page.escape, page.anchors, page.class_url = tostring, {}, nil
  page.kind = kinds_of(page.flat, errors.new())
  return picture.text(page.flat, registry.find, reporter, function (i)
    return template.label(page.template, page, i)
  end)
end

-- The template's text: nil if there is none, false if it can't be read.
local function template_of(o, reporter)
  if o.template_text then return o.template_text end
  if not o.template then return nil end
  local text, problem = files.text(o.template == "-" and "/dev/stdin" or o.template)
  if not text then reporter:error("%s", problem) end
  return text or false
end

-- The texts of the options -d by their names; nil if one has none.
local function defines_of(o, reporter)
  local defines = {}
  for _, text in ipairs(o.defines or {}) do
    local name, value = text:match("^([^=%s>]+)=(.*)$")
    if not name then
      reporter:error("-d takes NAME=TEXT, not '%s'", text)
      return nil
    end
    defines[name] = value
  end
  return defines
end

--- Run with the command line's arguments (a list of strings).
M.run = filter.program("click-pretty", "Write a configuration as a page of HTML, with "
  .. "an index of its elements and what each is connected to.", SPECS,
  "[VAR=VALUE]... [FILE]", function (o, reporter)
    source.use_clickpath(o.clickpath)
    local form, defines = template_of(o, reporter), defines_of(o, reporter)
    if form == false or not defines then return nil end
    if o.write_template then return form or html.TEMPLATE end
    local text, file = source.read(o, reporter)
    if not text then return nil end
    local flat = filter.flatten(text, file, o, reporter)
    if not flat then return nil end
    local page = {text = text, file = file, flat = flat, errors = errors.new(),
      is_class = registry.find, class_url = class_url_of(o.class_docs),
      template = form, defines = defines}
    if o.dot then return dot(page, reporter) end
    if o.gml then return graph.gml(flat) end
    if o.graphml then return graph.graphml(flat, kinds_of(flat, reporter)) end
    page.kind = kinds_of(flat, reporter)
    return html.page(page)
  end)

return M
