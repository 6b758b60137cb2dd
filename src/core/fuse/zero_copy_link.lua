-- SPDX-License-Identifier: Apache-2.0
-- Which links between fused regions and bulk apps are passed by without their rings:
-- those whose packets are taken in the same breath, after all that gives them
-- (src/native/dpdk/handover.c). A ring is memory that is read and written again and
-- again: without it an app costs a cycle or two a packet less.

local C = require("core.native")
local config = require("core.config")
local pool = require("core.pool")

local zero_copy_link = {}

-- The links that lead to the call of the app `name` or, if it is fused, of its region;
-- nil if it hands nothing over. (A region whose apps emit may fill its arrays at any
-- time.)
local function sources(name, apps, fused, into)
  local region = fused.region_with[name]
  if region and region.flush_all then return nil end
  if region then return region.description.entries end
  return apps[name].process_burst and fused.push[name] and (into[name] or {})
end

-- Does a region or a bulk app take what the link `spec` brings?
local function taken(spec, to, input, apps, fused)
  if fused.run[spec] then return true end
  local app = apps[to]
  return app.process_burst and fused.push[to]
    and not (app.push_link and app.push_link[input])
end

local function all_before(specs, position, at)
  for _, spec in ipairs(specs) do
    if position[spec] >= at then return false end
  end
  return true
end

--- Set which of the `links` are direct, and return a list of those. `specs` are
--- their texts in the order of their calls in a breath (core.engine.order).
function zero_copy_link.arrange(apps, links, fused, specs)
  local position, into, direct = {}, {}, {}
  for i, spec in ipairs(specs) do
    local _, _, to = config.parse_link(spec)
    position[spec] = i
    into[to] = into[to] or {}
    table.insert(into[to], spec)
  end
  for i, spec in ipairs(specs) do
    local from, _, to, input = config.parse_link(spec)
    local before = fused.wanted and sources(from, apps, fused, into)
    local good = before and taken(spec, to, input, apps, fused)
      and all_before(before, position, i)
    links[spec].direct = good and 1 or 0
    if good then direct[#direct + 1] = links[spec] end
  end
  return direct
end

--- Put what these links hold past their rings into the rings: after an error, when
--- those who were to take it weren't called.
function zero_copy_link.queue(direct)
  for _, l in ipairs(direct) do C.pg_queue_handed(pool.freelist, l) end
end

return zero_copy_link
