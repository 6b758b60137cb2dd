-- SPDX-License-Identifier: Apache-2.0
-- A router: the elements of a flat configuration, made, checked, configured and
-- initialized in Click's order, and run by Perigee's engine.
--
--   local r = router.new(flat, {errors = errors})       -- nil: the errors say why
--   r:run()                                             -- until it is stopped
--   r:close()
--
-- A flat configuration is what click.language makes of a text:
--   {elements = {{name=, class=, config=, landmark=}, ...},
--    connections = {{from=, output=, to=, input=}, ...}}
-- with elements counted from 1, and ports from 0.

local assembly = require("click.router.assembly")
local clock = require("click.router.clock")
local driver = require("click.router.driver")
local global_handlers = require("click.router.global_handlers")
local names = require("click.names")
local registry = require("click.registry")
local services = require("click.router.services")
local tasks = require("click.router.tasks")

local Router = {}
Router.__index = Router
for _, part in ipairs{services, driver} do
  for name, method in pairs(part) do Router[name] = method end
end

local router = {}

--- The router of a flat configuration, or nil if it can't be made: `options.errors`, a
--- collector of click.errors, is told why. Other options: simtime (simulated time,
--- which begins so many seconds after 1970), old (the router that this one is going to
--- replace), find_class (a function from names to classes), variables, threads,
--- allow_reconfigure, files (the folder of click.script.trust).
function router.new(flat, options)
  local self = setmetatable({
    flat = flat, options = options, errors = options.errors, old = options.old,
    elements = {}, by_name = {}, names = names.new(), tasks = tasks.new(),
    runcount = 1, meters = {}, turned = 0, turns = 0,
    polls = {}, frequent_polls = {}, polled = 0, poll_known = true, poll_waits = true,
    -- What the driver keeps: no field comes while packets pass, and ask for the time.
    turning = false, metered = -1, lookers = {}, arrived = {},
    most_turns = 1, most_at_once = math.huge,
    active = false, ended = false, replaced = false, disarranged = false,
    giving_way = false, successor = false, polling = false, closed = false,
    own_call = false, file_readers = false,
    clock = clock.new{simulated = options.simtime, tick = options.simtick},
    global_handlers = setmetatable({}, {__index = global_handlers}),
  }, Router)
  self.is_stopped = function () return self.runcount <= 0 end
  if self.old then
    self.clock.passed, self.is_open = self.old.clock.passed, self.old.is_open
  end
  self.root = {name = "", router = self}
  if assembly.build(self, options.find_class or registry.find) then return self end
  self.errors:error("Router could not be initialized!")
  self:close()
  return nil
end

return router
