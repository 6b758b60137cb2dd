-- SPDX-License-Identifier: Apache-2.0
-- `perigee click-align`: writes a configuration as it is, for scripts that call the
-- program of that name. Click's adds Align elements, where its elements want headers at
-- certain addresses.

local filter = require("program.click.filter")

local M = {summary = "write a Click configuration: there is nothing to align"}

local SPECS = filter.options{filter.CONFIG, filter.VERBOSE}

--- Run with the command line's arguments (a list of strings).
M.run = filter.program("click-align", "Write a configuration. Nothing is to be "
  .. "aligned: elements read headers wherever they are.", SPECS,
  "[VAR=VALUE]... [FILE]", function (o, reporter)
    local flat = filter.read(o, reporter)
    if not flat then return nil end
    reporter:message("nothing to align: Perigee reads headers wherever they are")
    return filter.text(flat, o.config, true)
  end)

return M
