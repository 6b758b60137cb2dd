-- SPDX-License-Identifier: Apache-2.0
-- Requests that change the graph: clients are heard within a breath, and a
-- configuration takes effect between two.

local timer = require("core.timer")

local between = {}

-- (One that is due at once, activated by a timer's function, may be left behind.)
local TICK_NANOSECONDS = timer.ns_per_tick

--- What a command's run() returns (lib.control.session) to answer with what f()
--- returns: it is called between two breaths, where engine.configure takes effect at
--- once. What it raises is the answer's error.
function between.breaths(f)
  local over, ok, result = false, nil, nil
  timer.activate(timer.new("a request of the control socket", function ()
    ok, result = pcall(f)
    over = true
  end, TICK_NANOSECONDS))
  return function ()
    if over and not ok then error(result, 0) end
    return over and result or nil
  end
end

return between
