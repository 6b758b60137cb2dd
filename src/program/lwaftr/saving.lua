-- SPDX-License-Identifier: Apache-2.0
-- What `run` does with its configuration beyond the process (lib.saved.saving): what is
-- written is printed of the router that runs.

local change = require("program.lwaftr.leader.change")
local general = require("lib.saved.saving")
local log = require("core.lib.log")
local outside = require("core.outside.visitors")
local path = require("program.lwaftr.leader.path")
local printer = require("program.lwaftr.leader.printer")
local schema = require("apps.lwaftr.conf_schema")

local saving = {}

local LOOK_S = 0.01 -- while it is read
local REMEMBERED = "lwaftr.conf" -- in the folder of --last-good

-- A standby takes over: another configuration than it has read is in the file by now.
-- It is read while packets pass.
local function reread(router, file, complete)
  local visitor = {patience = LOOK_S}
  local reading = coroutine.create(function ()
    local conf = change.read(file, coroutine.yield)
    complete(conf)
    change.load(router, conf)
  end)
  function visitor.tend()
    if not reading then return end
    local ok, problem = coroutine.resume(reading)
    if coroutine.status(reading) ~= "dead" then return end
    reading, visitor.patience = nil, nil
    if ok then
      log.info("%s has changed since the standby read it: it is read again", file)
    else
      log.error("%s; what the standby had read runs", tostring(problem))
    end
  end
  outside.let_in(visitor)
end

--- Add the options to a parser.
saving.add = general.add

--- The router (program.lwaftr.router) that start(FILE) gives, of the newest
--- configuration that the parsed options name or else of the last good one, and what is
--- to be told of changes (lib.saved.saving). Raises what start() does, and a usage
--- failure if it can't be saved so. complete(CONF) adds to a configuration that is read
--- what the options say.
function saving.start(options, start, complete)
  local router
  local saved = general.new{given = options.conf, save_config = options.save_config,
    last_good = options.last_good, name = REMEMBERED,
    reload = "`perigee config load` takes that",
    pieces = function (put)
      printer.pieces(path.find(schema, "/"), router.conf)(put)
    end}
  router = saved:start(start, function (file) reread(router, file, complete) end)
  router.has_last_good = saved.memory ~= nil
  return router, saved
end

return saving
