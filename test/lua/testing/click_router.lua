-- SPDX-License-Identifier: Apache-2.0
-- For specs: whole routers from a text, without the engine, in simulated time. `Catch`
-- is an element that takes packets, and keeps what they held.
--
--   local r = click_router.run("InfiniteSource(LIMIT 1, STOP true) -> Catch")
--   assert.equal(1, #r.caught)

local element = require("click.element")
local errors = require("click.errors")
local ffi = require("ffi")
local language = require("click.language")
local packet = require("core.packet")
local registry = require("click.registry")
local router = require("click.router.router")

local click_router = {}

local Catch = element.define{
  name = "Catch", summary = "keeps what packets held", ports = "1/0",
  processing = "h/h",
}

function Catch:process(p)
  table.insert(self.router.caught, ffi.string(p.data, p.length))
  if self.router.look then self.router.look(p, self) end
  packet.free(p)
  return false
end

-- A function that finds classes: Catch, those of the list, and all there are.
local function finder(classes)
  return function (name)
    for _, class in ipairs(classes or {}) do
      if class.name == name then return class end
    end
    return name == "Catch" and Catch or registry.find(name)
  end
end

--- The router of the configuration `text`, active, or nil and what is wrong. Its
--- `caught` is a list of the packets' bytes, `said` of what elements say. `options`:
--- look, f(p, element), called for each packet caught; real, true: not in simulated
--- time; old, the router that it replaces; classes, a list of further element classes.
function click_router.make(text, options)
  options = options or {}
  local report, find = errors.new(), finder(options.classes)
  local flat = language.read{text = text, errors = report,
    class_of = function (name) return find(name) ~= nil end}
  local r = flat and router.new(flat, {errors = report, find_class = find,
    simtime = not options.real and 1e9 or nil, direct = true, old = options.old})
  if not r then return nil, report:text() end
  r.caught, r.look, r.said = {}, options.look, {}
  r.say = function (_, line) table.insert(r.said, line) end
  r:activate()
  return r
end

--- Let it run for so many seconds of its time (10), or until it stops.
function click_router.turn(r, seconds)
  local till = r:steady() + (seconds or 10)
  while not r:has_ended() and r:steady() < till do
    if not r:turn() and r.clock.simulated then break end
  end
  return r
end

--- Make the router, and let it run; it is closed then. Raises what is wrong.
function click_router.run(text, options)
  local r = assert(click_router.make(text, options))
  click_router.turn(r, options and options.seconds)
  r:close()
  return r
end

--- How many packets its counter `c` counts in the second after the handler is written;
--- there was one before.
function click_router.count_after(text, handler, value)
  local r = click_router.turn(assert(click_router.make(text)), 1)
  local before = r:handler_read("c.count")
  assert(r:handler_write(handler, value))
  local n = click_router.turn(r, 1):handler_read("c.count") - before
  r:close()
  return n
end

return click_router
