-- SPDX-License-Identifier: Apache-2.0
-- Running a router that may be replaced while it runs, by writing another configuration
-- to the handler `hotconfig`. One that is wrong leaves the running one as it is.

local errors = require("click.errors")

local reconfigure = {}

--- Run `router` until it ends, and after it whatever took its place; returns the last
--- one. `make(text, reporter, old)` makes a router of a configuration, or reports what
--- is wrong; without it there is no such handler.
function reconfigure.run(router, make)
  repeat
    local running, successor = router, nil
    running.global_handlers.hotconfig = make and {write = function (_, text)
      local reporter = errors.new()
      local new = make(text, reporter, running)
      if not new then return (reporter:text():gsub("\n$", "")) end
      if successor then successor:close() end
      successor, running.ended, running.replaced = new, true, true
    end}
    running:run()
    router = successor or running
  until not successor
  return router
end

return reconfigure
