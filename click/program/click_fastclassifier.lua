-- SPDX-License-Identifier: Apache-2.0
-- `perigee click-fastclassifier`: writes a configuration as it is, for scripts that
-- call the program of that name. Click's makes C++ of it.

local filter = require("program.click.filter")

local M = {summary = "write a Click configuration: there is nothing to specialise"}

local function ignored(name, letter)
  return {names = {name}, letter = letter, field = name, help = "Takes no effect."}
end

local SPECS = filter.options{
  filter.CONFIG, filter.VERBOSE,
  {names = {"quiet"}, letter = "q", field = "quiet", help = "Don't say so."},
  ignored("user", "u"), ignored("source", "s"), ignored("reverse", "r"),
  ignored("no-combine"), ignored("no-classes"),
}

--- Run with the command line's arguments (a list of strings).
M.run = filter.program("click-fastclassifier", "Write a configuration. No code is to "
  .. "be made for classifiers: they are compiled as they are configured.", SPECS,
  "[VAR=VALUE]... [FILE]", function (o, reporter)
    local flat = filter.read(o, reporter)
    if not flat then return nil end
    if not o.quiet then
      reporter:message("no code to be made: Perigee compiles classifiers itself")
    end
    return filter.text(flat, o.config, true)
  end)

return M
