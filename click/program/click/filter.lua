-- SPDX-License-Identifier: Apache-2.0
-- What programs have in common that read a configuration and write one: click-flatten,
-- click-undead, ... They have Click's command lines.

local archive = require("click.language.archive")
local errors = require("click.errors")
local flatfile = require("click.language.flatfile")
local language = require("click.language")
local main = require("core.main")
local options = require("program.click.options")
local source = require("program.click.source")

local filter = {}

--- The options that they all have.
filter.OPTIONS = {
  {names = {"file"}, letter = "f", value = "FILE", field = "file",
    once = "router configuration", help = "Read the configuration from FILE."},
  {names = {"expression"}, letter = "e", value = "EXPR", field = "file",
    also = "expression", once = "router configuration",
    help = "The configuration is EXPR."},
  {names = {"output"}, letter = "o", value = "FILE", field = "output",
    once = "--output file", help = "Write to FILE."},
  {names = {"clickpath"}, letter = "C", value = "PATH", field = "clickpath",
    help = "Look for libraries in PATH."},
  {names = {"help"}, field = "help", help = "Write this."},
  {names = {"version"}, letter = "v", field = "version", help = "Write the version."},
}

--- Those, and `more` of them behind the first three.
function filter.options(more)
  local list = {}
  for i, spec in ipairs(filter.OPTIONS) do
    list[#list + 1] = spec
    if i == 3 then
      for _, own in ipairs(more or {}) do list[#list + 1] = own end
    end
  end
  return list
end

--- An option of a program for which the order of several options and words counts: they
--- come as a list, `parts`. `name` is its long name, and its part's kind.
function filter.part(name, letter, value, help)
  return {names = {name}, letter = letter, value = value, kind = name, help = help,
    list = true, field = "parts"}
end

--- Write the configuration alone, not an archive.
filter.CONFIG = {names = {"config"}, letter = "c", field = "config",
  help = "Write the configuration alone, not an archive."}

--- Say what is done. These options are taken where there is nothing to do, too.
filter.VERBOSE = {names = {"verbose"}, letter = "V", field = "verbose",
  help = "Say what is done."}

-- Configurations -------------------------------------------------------------------

--- The flat configuration of the text of a file, or nil; see filter.read.
function filter.flatten(text, file, o, reporter, settings)
  if text == "" then reporter:at(file):warning("empty configuration") end
  local all = {text = text, file = file, errors = reporter, variables = o.variables,
    any_class = true, in_place = true, keep_variables = true}
  for name, value in pairs(settings or {}) do all[name] = value end
  return language.read(all)
end

--- Read the configuration that the options name, with further `settings` of
--- click.language; nil if it is wrong, which `reporter` has been told.
function filter.read(o, reporter, settings)
  source.use_clickpath(o.clickpath)
  local text, file = source.read(o, reporter)
  return text and filter.flatten(text, file, o, reporter, settings)
end

--- The flat configuration as text, in an archive with what was beside it, if there was
--- anything and not `alone`. `defines`: with the file's variables.
function filter.text(flat, alone, defines)
  local config = flatfile.text(flat, {lines = true, defines = defines})
  local members = {{name = "config", data = config}}
  for _, member in ipairs(not alone and flat.archive or {}) do
    if member.name ~= "config" then members[#members + 1] = member end
  end
  return #members > 1 and archive.text(members) or config
end

-- Programs -------------------------------------------------------------------------

--- The program `name`, "click-undead": `does` is a sentence, `specs` its options,
--- `words` what its arguments are in its usage. work(o, reporter) returns the text to
--- be written, or nil after it has reported why there is none.
function filter.program(name, does, specs, words, work)
  local usage = ("Usage: %s [OPTION]... %s\n"):format(name, words)
  local function run(args)
    local o, problem = options.parse(specs, args)
    if not o then
      io.stderr:write(name, ": ", problem, "\n", usage,
        ("Try '%s --help' for more information.\n"):format(name))
      return main.exit(1)
    elseif o.help then
      return io.write(does, "\n\n", usage, "\nOptions:\n", options.help(specs))
    elseif o.version then
      return print(name .. " (Perigee) " .. main.release)
    end
    local reporter = errors.to_stderr()
    local text = work(o, reporter)
    local written = text and source.write(o.output or "-", text, reporter)
    if not written then main.exit(1) end
  end
  return run
end

return filter
