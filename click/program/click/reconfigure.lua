-- SPDX-License-Identifier: Apache-2.0
-- Running a router that may be replaced while it runs, by writing another configuration
-- to the handler `hotconfig`. One that is wrong leaves the running one as it is.

local control = require("program.click.control")
local errors = require("click.errors")
local failure = require("core.failure")
local meanwhile = require("core.lib.meanwhile")
local trust = require("click.script.trust")

local reconfigure = {}

-- The router that the text makes; or nil, and what is wrong. The running one goes on.
local function build(make, text, running)
  local reporter = errors.new()
  local new = meanwhile.call(function () running:go_on() end, make, text, reporter,
    running)
  if not new then return nil, (reporter:text():gsub("\n$", "")) end
  if running.runcount > 0 then return new end
  new:close()
  return nil, "the router has been stopped meanwhile"
end

local text_of = setmetatable({}, {__mode = "k"}) -- of routers that hotconfig made

-- Let the router's successor take its place: the router that runs on. A port that can't
-- be opened is only found out now.
local function exchange(old, changed)
  local new = old.successor
  old.successor = nil
  local ok, err = pcall(new.activate, new)
  if ok then
    control.follow(new)
    if changed then changed(text_of[new]) end
    return new
  end
  if not failure.is(err) then error(err, 0) end
  old.not_replaced = ("%s; the former configuration runs on"):format(tostring(err))
  old:say("hotconfig: " .. old.not_replaced)
  new.old = nil
  new:close()
  old:resume()
  return old
end

-- Give the router the handler, by which it gets a successor.
local function offer(router, make)
  router.global_handlers.hotconfig = {write = function (_, text)
    if trust.is_limited(router) then
      return "in a router that others may connect to, only a connection of its own "
        .. "user may write it"
    end
    router.own_call = nil -- the running one goes on meanwhile
    if router.giving_way then return "another configuration is taking over" end
    local new, problem = build(make, text, router)
    if not new then return problem end
    text_of[new] = text
    offer(new, make) -- as soon as it runs there may be a command for it
    if router.successor then router.successor:close() end
    router.successor, router.ended, router.replaced = new, true, true
  end}
end

--- Run `router` until it ends, and after it whatever took its place; returns the last
--- one. `make(text, reporter, old)` makes a router of a configuration, or reports what
--- is wrong; without it there is no such handler. changed(text) is called when another
--- one runs.
function reconfigure.run(router, make, changed)
  if make then offer(router, make) end
  local last = router:run(function (old) return exchange(old, changed) end)
  if last.successor then last.successor:close() end
  return last
end

return reconfigure
