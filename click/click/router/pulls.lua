-- SPDX-License-Identifier: Apache-2.0
-- The pull side: each pull input gets a function that brings a packet from upstream, or
-- nil. Elements that only have process(), agnostic ones, are wrapped.

local drops = require("core.fuse.drops")
local packet = require("core.packet")
local packet_thread = require("click.threads.packet_thread")
local ports = require("click.router.ports")
local pull_paths = require("click.router.pull_paths")

local pulls = {}

--- What became of packet `p` that e:process() didn't return: freed and counted.
function pulls.lose(e, p, reason)
  drops.add(e, (e.class.drops or {})[reason] or "dropped", 1)
  packet.free(p)
end
local lose = pulls.lose

-- The number of the first input that leads to output `o`.
local function input_for(e, o)
  local flow = e.class.flow
  if type(flow) == "function" then flow = flow(e) end
  for i = 1, e.ninputs do
    if ports.flows(flow, i, o) then return i end
  end
  return 1
end

-- What pulls from output `o` of an element without a method for that.
local function wrap(e, o)
  local i, process = input_for(e, o), e.class.process
  return function ()
    local upstream = e.pull_from[i]
    local p = upstream and upstream()
    if not p then return nil end
    local q, out = process(e, p, i)
    if q == nil then
      lose(e, p, out)
      return nil
    elseif q == false then
      return nil
    elseif (out or 1) ~= o then
      e.emit(out or 1, q)
      return nil
    end
    return q
  end
end

-- The elements' own method; the engine must not see one of that name.
local function pull_method(e) return e.class.pull end

--- A function that pulls from output `o` of the element.
function pulls.source(e, o)
  local pull = pull_method(e)
  if not pull then return wrap(e, o) end
  return function () return pull(e, o) end
end

-- What an element that runs by itself pulls from there: in a router over several
-- threads packets are its thread's from here on.
local function source_for(e, from, o)
  local pull = pulls.source(from, o)
  if not (e.class.task and e.router.options.part) then return pull end
  return function ()
    local p = pull()
    if p then packet_thread.take(p) end
    return p
  end
end

-- Do others push to the element, as to a queue?
local function is_pushed_to(e) return e.processing.inputs:find("[^l]") ~= nil end

--- Set pull_from of all elements, and `relays` (doc/apps.md) of those that pull from
--- queues.
function pulls.connect(router)
  for _, e in ipairs(router.elements) do e.pull_from = {} end
  for _, c in ipairs(router.connections) do
    local from, to = router.elements[c.from], router.elements[c.to]
    local i, o = c.input + 1, c.output + 1
    if to.processing.inputs:sub(i, i) == "l" then
      to.pull_from[i] = source_for(to, from, o)
    end
  end
  for _, e in ipairs(router.elements) do
    e.relays = pull_paths.reach(e, false, is_pushed_to) or nil
  end
end

return pulls
