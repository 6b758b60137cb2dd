-- SPDX-License-Identifier: Apache-2.0
-- Ports next to bulk apps: a burst goes from a port's receive straight to the app's
-- array, and from that to another port. The links between only count, as they do next
-- to regions. Pure.

local config = require("core.config")
local device = require("core.fuse.device")

local bulk_ports = {}

local function is_bulk(app) return app and app.process_burst and not app.push end

--- Of the running `apps` and `links`: the ports by link ({[LINK] = struct port}), and
--- the set of the texts of those links that bulk apps receive for. Nothing if it isn't
--- `wanted`.
function bulk_ports.of(apps, links, wanted)
  local ports, fetched = {}, {}
  if not wanted then return ports, fetched end
  local outputs = device.leaving(links)
  for spec, l in pairs(links) do
    local from, _, to, input = config.parse_link(spec)
    local a, b = apps[from], apps[to]
    local source, sink = device.of(a, "pull"), device.of(b, "push")
    if source and is_bulk(b) and outputs[from] == 1
      and not (b.push_link and b.push_link[input]) then
      ports[l], fetched[spec] = source, true
    elseif sink and is_bulk(a) then
      ports[l] = sink
    end
  end
  return ports, fetched
end

return bulk_ports
