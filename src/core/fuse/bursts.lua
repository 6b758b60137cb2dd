-- SPDX-License-Identifier: Apache-2.0
-- How many packets a region takes at once, and how often it does in a breath.

local C = require("core.native")
local link = require("core.link")
local repush = require("core.repush")

local bursts = {}

local BURST = C.PORT_BURST

--- The packets to take at once from `port`, to which the app `first` is linked; the
--- region's packets all leave by ports, the values of the table `to`. An app may want
--- fewer than a burst (app.at_once), for the sake of the first cache, but a port may
--- want it to be full. (In an app of Snabb's form the field means anything.)
function bursts.at_once(port, first, to)
  local full = port.full_bursts ~= 0
  for _, other in pairs(to) do full = full or other.full_bursts ~= 0 end
  if full or first.lifted_from then return BURST end
  return first.at_once or BURST
end

--- What runs `step` once for each burst that is in the link `l`, after a full one.
--- Looks at the link only then: its int64 cursor is garbage where this isn't compiled.
function bursts.rest_of(l, step)
  local nreadable = link.nreadable
  return function ()
    for _ = 1, nreadable(l), BURST do step() end
  end
end

--- The same, after one `step` that returns the number of packets that it took.
function bursts.all_of(l, step)
  local rest = bursts.rest_of(l, step)
  return function ()
    if step() == BURST then rest() end
  end
end

--- What runs `step` again after a full burst of a port, which is asked for `most`
--- packets at once. One that gives these will have more: up to four full bursts in a
--- breath, so that what a breath costs by itself counts for less. (Where other calls
--- must follow each burst, core.engine.breath does that.)
function bursts.rest(step, most)
  local steps = math.ceil(repush.MOST * BURST / most)
  return function ()
    for _ = 2, steps do
      if step() ~= most then return end
    end
  end
end

--- The same, after a step of its own.
function bursts.while_full(step, most)
  local rest = bursts.rest(step, most)
  return function ()
    if step() == most then rest() end
  end
end

return bursts
