-- SPDX-License-Identifier: Apache-2.0
-- `perigee click-devirtualize`: writes a configuration as it is, for scripts that call
-- the program of that name. Click's makes C++ of it.

local filter = require("program.click.filter")

local M = {summary = "write a Click configuration: there is nothing to devirtualize"}

local function ignored(names, letter, value)
  return {names = names, letter = letter, value = value, field = names[1],
    help = "Takes no effect."}
end

local SPECS = filter.options{
  filter.CONFIG, filter.VERBOSE, ignored({"user"}, "u"), ignored({"source"}, "s"),
  ignored({"reverse"}, "r"), ignored({"no-devirtualize"}, "n", "CLASS"),
  ignored({"instructions"}, "i", "FILE"), ignored({"replace"}), ignored({"inline"}),
  ignored({"static"}), ignored({"unroll"}),
}

--- Run with the command line's arguments (a list of strings).
M.run = filter.program("click-devirtualize", "Write a configuration. Nothing is to be "
  .. "devirtualized: elements are compiled to one loop while they run.", SPECS,
  "[VAR=VALUE]... [FILE]", function (o, reporter)
    local flat = filter.read(o, reporter)
    if not flat then return nil end
    reporter:message("nothing to devirtualize: Perigee compiles elements as they run")
    return filter.text(flat, o.config, true)
  end)

return M
