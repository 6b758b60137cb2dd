-- SPDX-License-Identifier: Apache-2.0
-- What a graph file says of state that outlives the process: its keys `keep`, `standby`
-- and `replicate_to` are the options --keep, --standby and --replicate.

local child = require("lib.replica.child")
local failure = require("core.failure")
local keep = require("net.keep.keep")
local kept_apps = require("net.keep.apps")
local log = require("core.lib.log")
local main = require("core.main")
local shown = require("lib.replica.shown")
local standby = require("net.keep.standby")
local turn = require("lib.replica.turn")

local kept = {}

--- Raise a usage failure if these values of the keys can't be.
function kept.check_keep(name)
  local good, problem = keep.check_name(name)
  if not good then failure.usage("`keep` is '%s': %s", name, problem) end
end

--- The same for `replicate_to`.
function kept.check_replicate_to(text) child.words("`replicate_to`", text) end

--- Begin to keep what the graph file (program.run.graph_file) says, once. If the option
--- --keep was given, that counts.
function kept.begin(graph)
  if keep.name() then
    if keep.name() ~= graph.keep and (graph.standby or graph.replicate_to) then
      log.warning("%s: `standby` and `replicate_to` have no effect, as --keep is given",
        graph.path)
    end
    return
  end
  if graph.keep then
    if graph.replicate_to then child.want(graph.replicate_to)
    elseif graph.standby then standby.want(turn) end
    kept_apps.use(graph.keep)
    child.begin()
    shown.begin(graph.keep)
    for _, word in ipairs{"--keep", graph.keep} do -- of workers, too
      table.insert(main.options, word)
    end
  end
  standby.check()
end

return kept
