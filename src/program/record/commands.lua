-- SPDX-License-Identifier: Apache-2.0
-- What a running record takes by its control socket (doc/control.md): to write a
-- file, to finish, and to say what it has.

local arguments = require("lib.control.arguments")
local control = require("lib.control.server")
local finish = require("lib.control.finish")
local quantity = require("lib.quantity")

local M = {}

local function seconds(request, key)
  local text = arguments.text(request, key)
  if not text then return nil end
  local n, problem = quantity.duration(text)
  if not n then error(key .. ": " .. problem, 0) end
  return n
end

--- Let the control socket of this process take what record can be told, about the
--- Recorder.
function M.let_in(recorder)
  local commands, ring = control.commands, recorder.ring
  finish.let_in()
  commands.record = {arguments = {before = true, after = true}}
  function commands.record.run(_, request)
    local path = recorder:trigger("command", seconds(request, "before"),
      seconds(request, "after"))
    if not path then error("as many files as can be are written, or were", 0) end
    return {file = path}
  end
  commands.statistics = {arguments = {}, run = function ()
    return {
      packets = tonumber(ring.packets), bytes = tonumber(ring.bytes),
      kept = tonumber(ring.packets - ring.overwritten), seconds = recorder:seconds(),
      files = #recorder.results, open = ring.jobs, matches = tonumber(ring.matches),
      flows = recorder.flows and recorder.flows:told(),
    }
  end}
end

return M
