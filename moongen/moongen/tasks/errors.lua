-- SPDX-License-Identifier: Apache-2.0
-- Errors that scripts raise, with the line they were raised at and how they got there.

local failure = require("core.failure")
local exits = require("moongen.tasks.exits")
local luajit_errors = require("core.lib.luajit_errors")
local own_code = require("moongen.own_code")

local errors = {}

-- Lines of a traceback that are the script's or its modules', not Perigee's.
local function own_lines(trace)
  local lines = {}
  for line in trace:gmatch("[^\n]+") do
    local own = own_code.is_own(line) or line:match("%[C%]: in function '%w+'$")
    if line:match("^\t") and not own then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n")
end

local PLACES = ": not next to the script, and not in a folder that --tree names; a "
  .. "checkout of libmoon or MoonGen may have it (--tree CHECKOUT)"

--- For xpcall: an error with `text`, `status` (the exit status) and `trace`.
function errors.explain(err)
  local status = exits.status(err)
  if status then return {exit = status} end
  if failure.is(err) then return {text = err.sentence, status = err.status} end
  local text = luajit_errors.explained(tostring(err), PLACES)
  return {text = text, status = 1, trace = own_lines(debug.traceback("", 2))}
end

--- Tell the user of it: in which task, where, and how the script came there.
function errors.tell(task, err)
  io.stdout:flush()
  local trace = err.trace and err.trace ~= "" and "\n" .. err.trace or ""
  io.stderr:write(("perigee: task '%s': %s%s\n"):format(task, err.text, trace))
end

return errors
