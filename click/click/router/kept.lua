-- SPDX-License-Identifier: Apache-2.0
-- What of a router outlives the process (--keep, src/net/keep). An element that has
-- something to keep has a method kept_state(), which returns an item of net.keep's, or
-- nil: it is asked when its router begins to run, and has what one before it had.

local family = require("net.keep.family")
local keep = require("net.keep.keep")
local log = require("core.lib.log")

local kept = {}

-- A copy on one of several CPUs keeps its own part.
local function name(router, item)
  local copy = router.options.copy or {number = 0, of = 1}
  item.family, item.copies, item.moves = "Click's " .. item.of, copy.of, copy.moves
  item.of = family.member(item.family, copy.number + 1, copy.of, copy.moves)
end

--- The router runs from now on.
function kept.begin(router)
  if not keep.name() then return end
  if router.clock.simulated then
    log.warning("--keep %s: a router with a simulated clock keeps nothing",
      keep.name())
    return
  end
  for _, e in ipairs(router.order) do
    local item = e.kept_state and e:kept_state()
    if item then
      name(router, item)
      keep.records(item)
    end
  end
end

return kept
