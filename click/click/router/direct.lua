-- SPDX-License-Identifier: Apache-2.0
-- Push connections as plain calls, without the engine: a packet goes from element to
-- element until it is dropped or kept. The order in which things happen is exactly
-- Click's. For simulated time, and for specs.

local drops = require("core.fuse.drops")
local element = require("click.element")
local packet = require("core.packet")
local pulls = require("click.router.pulls")

local direct = {}

-- Hand packet `p` to `target`, {element =, input =}, and on.
local function deliver(target, p)
  while target do
    local e = target.element
    local q, o = e:process(p, target.input)
    if q == nil then return pulls.lose(e, p, o) end
    if q == false then return end
    o, p = o or 1, q
    local following = e.targets[o]
    if not following then
      drops.add(e, ("no link at %d"):format(o - 1), 1)
      packet.free(p)
    end
    target = following
  end
end

-- What sends packets from the element at once.
local function emitter(e)
  return function (o, q)
    local target = e.targets[o]
    if target then return deliver(target, q) end
    drops.add(e, ("no link at %d"):format(o - 1), 1)
    packet.free(q)
  end
end

--- Give all elements of the router their emit().
function direct.connect(router)
  for _, e in ipairs(router.elements) do
    e.targets, e.emit = {}, emitter(e)
    if e.make_process then e.process = element.processor(e) end
  end
  for _, c in ipairs(router.connections) do
    local from, to = router.elements[c.from], router.elements[c.to]
    local letter = from.processing.outputs:sub(c.output + 1, c.output + 1)
    if letter ~= "l" then
      from.targets[c.output + 1] = {element = to, input = c.input + 1}
    end
  end
end

return direct
