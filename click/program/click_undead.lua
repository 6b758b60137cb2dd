-- SPDX-License-Identifier: Apache-2.0
-- `perigee click-undead`: a configuration without what no packet passes.

local filter = require("program.click.filter")
local undead = require("click.transform.undead")

local M = {summary = "write a Click configuration without dead elements"}

local SPECS = filter.options{
  filter.CONFIG, filter.VERBOSE,
  {names = {"user"}, letter = "u", field = "user", help = "Takes no effect."},
}

--- Run with the command line's arguments (a list of strings).
M.run = filter.program("click-undead", "Write a configuration without elements that "
  .. "aren't between a source and a sink of packets.", SPECS, "[VAR=VALUE]... [FILE]",
  function (o, reporter)
    local flat = filter.read(o, reporter)
    if not flat then return nil end
    local live = undead(flat, function (e)
      if o.verbose then
        reporter:at(e.landmark):message("removing '%s :: %s'", e.name, e.class)
      end
    end)
    if #live.elements == 0 and #flat.elements > 0 then
      return reporter:warning("no live elements in configuration")
    end
    return filter.text(live, o.config, true)
  end)

return M
