-- SPDX-License-Identifier: Apache-2.0
-- What each app of a graph takes, from what core.watch.cycles has measured. Pure.

local weights = {}

local function share_out(result, names, cycles)
  for _, name in ipairs(names) do
    result[name] = (result[name] or 0) + cycles / #names
  end
end

--- TSC cycles a packet by app, {[NAME] = number}: `totals` as cycles.totals() gives
--- them. A fused region's are shared out evenly among its apps, and what is spent on
--- ports among the `ports`, a list of names. nil if nothing was measured.
function weights.of(totals, regions, ports)
  if totals.packets == 0 or totals.samples == 0 then return nil end
  local result, apps_of = {}, {}
  for _, region in ipairs(regions) do
    local apps = region.description.apps
    local label = #apps == 1 and apps[1] or ("%s+%d"):format(apps[1], #apps - 1)
    apps_of[label] = apps
  end
  for label, cycles in pairs(totals.tasks) do
    share_out(result, apps_of[label] or {label}, cycles / totals.packets)
  end
  share_out(result, ports, (totals.receive + totals.send) / totals.packets)
  return result
end

return weights
