-- SPDX-License-Identifier: Apache-2.0
-- What `run` does with its configuration beyond the process (lib.saved.saving): what is
-- written is printed of the router that runs.

local general = require("lib.saved.saving")
local path = require("program.lwaftr.leader.path")
local printer = require("program.lwaftr.leader.printer")
local schema = require("apps.lwaftr.conf_schema")

local saving = {}

local REMEMBERED = "lwaftr.conf" -- in the folder of --last-good

--- Add the options to a parser.
saving.add = general.add

--- The router (program.lwaftr.router) that start(FILE) gives, of the newest
--- configuration that the parsed options name or else of the last good one, and what is
--- to be told of changes (lib.saved.saving). Raises what start() does, and a usage
--- failure if it can't be saved so.
function saving.start(options, start)
  local router
  local saved = general.new{given = options.conf, save_config = options.save_config,
    last_good = options.last_good, name = REMEMBERED,
    reload = "`perigee config load` takes that",
    pieces = function (put)
      printer.pieces(path.find(schema, "/"), router.conf)(put)
    end}
  router = saved:start(start)
  router.has_last_good = saved.memory ~= nil
  return router, saved
end

return saving
