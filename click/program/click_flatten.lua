-- SPDX-License-Identifier: Apache-2.0
-- `perigee click-flatten`: a configuration without compound elements.

local filter = require("program.click.filter")

local M = {summary = "write a Click configuration without compound elements"}

local SPECS = filter.options{
  {names = {"classes"}, letter = "c", field = "classes",
    help = "Write only a list of the classes."},
  {names = {"names", "elements"}, letter = "n", field = "names",
    help = "Write only a list of the elements' names."},
  {names = {"declarations", "decls"}, letter = "d", field = "declarations",
    help = "Write only a list of the declarations."},
  {names = {"config"}, field = "config", help = filter.CONFIG.help},
  {names = {"expand-vars"}, field = "expand_vars",
    help = "Replace the variables of the file, too."},
}

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
  return filter.text(flat, o.config, not o.expand_vars)
end

--- Run with the command line's arguments (a list of strings).
M.run = filter.program("click-flatten",
  "Write a configuration without compound elements.", SPECS, "[VAR=VALUE]... [FILE]",
  function (o, reporter)
    local flat = filter.read(o, reporter, {keep_variables = not o.expand_vars})
    return flat and output_of(flat, o)
  end)

return M
