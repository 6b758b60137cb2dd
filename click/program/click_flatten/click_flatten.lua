-- SPDX-License-Identifier: Apache-2.0
-- `perigee click-flatten`: a configuration without compound elements.

local archive = require("click.language.archive")
local errors = require("click.errors")
local flatfile = require("click.language.flatfile")
local language = require("click.language")
local main = require("core.main")
local options = require("program.click.options")
local source = require("program.click.source")

local M = {summary = "write a Click configuration without compound elements"}

local SPECS = {
  {names = {"file"}, letter = "f", value = "FILE", field = "file",
    once = "router configuration", help = "Read the configuration from FILE."},
  {names = {"expression"}, letter = "e", value = "EXPR", field = "file",
    also = "expression", once = "router configuration",
    help = "The configuration is EXPR."},
  {names = {"output"}, letter = "o", value = "FILE", field = "output",
    once = "--output file", help = "Write to FILE."},
  {names = {"classes"}, letter = "c", field = "classes",
    help = "Write only a list of the classes."},
  {names = {"names", "elements"}, letter = "n", field = "names",
    help = "Write only a list of the elements' names."},
  {names = {"declarations", "decls"}, letter = "d", field = "declarations",
    help = "Write only a list of the declarations."},
  {names = {"config"}, field = "config",
    help = "Write the configuration alone, not an archive."},
  {names = {"expand-vars"}, field = "expand_vars",
    help = "Replace the variables of the file, too."},
  {names = {"clickpath"}, letter = "C", value = "PATH", field = "clickpath",
    help = "Look for libraries in PATH."},
  {names = {"help"}, field = "help", help = "Write this."},
  {names = {"version"}, letter = "v", field = "version", help = "Write the version."},
}

local USAGE = "Usage: click-flatten [OPTION]... [VAR=VALUE]... [FILE]\n"

-- Lists ----------------------------------------------------------------------------

-- What `text_of` makes of each element, sorted, a line each.
local function lines_of(flat, once, text_of)
  local lines, seen = {}, {}
  for _, element in ipairs(flat.elements) do
    local line = text_of(element)
    if not (once and seen[line]) then lines[#lines + 1] = line end
    seen[line] = true
  end
  table.sort(lines)
  return #lines > 0 and table.concat(lines, "\n") .. "\n" or ""
end

local function configuration(flat, o)
  return flatfile.text(flat, {lines = true, defines = not o.expand_vars})
end

-- The configuration in an archive with what was beside it, if there was anything.
local function with_members(flat, config)
  local members = {{name = "config", data = config}}
  for _, member in ipairs(flat.archive) do
    if member.name ~= "config" then members[#members + 1] = member end
  end
  return #members > 1 and archive.text(members) or config
end

local function output_of(flat, o)
  if o.classes then
    return lines_of(flat, true, function (element) return element.class end)
  elseif o.names then
    return lines_of(flat, false, function (element) return element.name end)
  elseif o.declarations then
    return lines_of(flat, false, function (element)
      return element.name .. " :: " .. element.class
    end)
  end
  local config = configuration(flat, o)
  return o.config and config or with_members(flat, config)
end

-- Running --------------------------------------------------------------------------

local function flatten(o)
  local reporter = errors.to_stderr()
  source.use_clickpath(o.clickpath)
  local text, file = source.read(o, reporter)
  if not text then return 1 end
  if text == "" then reporter:at(file):warning("empty configuration") end
  local flat = language.read{text = text, file = file, errors = reporter,
    variables = o.variables, any_class = true, in_place = true,
    keep_variables = not o.expand_vars}
  if not flat then return 1 end
  return source.write(o.output or "-", output_of(flat, o), reporter) and 0 or 1
end

--- Run with the command line's arguments (a list of strings).
function M.run(args)
  local o, problem = options.parse(SPECS, args)
  if not o then
    io.stderr:write("click-flatten: ", problem, "\n", USAGE,
      "Try 'click-flatten --help' for more information.\n")
    return main.exit(1)
  elseif o.help then
    io.write("Write a configuration without compound elements.\n\n", USAGE,
      "\nOptions:\n", options.help(SPECS))
  elseif o.version then
    print("click-flatten (Perigee) " .. main.release)
  else
    local status = flatten(o)
    if status ~= 0 then main.exit(status) end
  end
end

return M
