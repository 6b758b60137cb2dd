-- SPDX-License-Identifier: Apache-2.0
-- Ports that packets can come from, or go to, past their methods and links: which they
-- are, those next to bulk apps, and those that take packets which the sender keeps. The
-- links between only count.

local config = require("core.config")
local mode = require("core.check.mode")

local direct_ports = {}

--- The struct port of a running app (or of nil) whose `method`, "pull" or "push", is
--- its class's that allows to go past it (Port.direct), or nil. What replaces that has
--- its effect, as pull = false has of a card that is to receive nothing.
function direct_ports.of(app, method)
  return app and app.direct and app[method] == app.direct[method] and app.port or nil
end

--- How many of the `links` (their texts are the keys) leave each app, by its name.
function direct_ports.leaving(links)
  local count = {}
  for spec in pairs(links) do
    local from = config.parse_link(spec)
    count[from] = (count[from] or 0) + 1
  end
  return count
end

-- Next to bulk apps -------------------------------------------------------------

local function is_bulk(app) return app and app.process_burst and not app.push end

--- Of the running `apps` and `links`: the ports next to bulk apps, by link ({[LINK] =
--- struct port}), and the set of the texts of those links that bulk apps receive for. A
--- burst goes from a port's receive straight to the app's array, and from that to
--- another port. Nothing if it isn't `wanted`.
function direct_ports.of_bulk(apps, links, wanted)
  local ports, fetched = {}, {}
  if not wanted then return ports, fetched end
  local outputs = direct_ports.leaving(links)
  for spec, l in pairs(links) do
    local from, _, to, input = config.parse_link(spec)
    local a, b = apps[from], apps[to]
    local source, sink = direct_ports.of(a, "pull"), direct_ports.of(b, "push")
    if source and is_bulk(b) and outputs[from] == 1
      and not (b.push_link and b.push_link[input]) then
      ports[l], fetched[spec] = source, true
    elseif sink and is_bulk(a) then
      ports[l] = sink
    end
  end
  return ports, fetched
end

-- Packets that the sender keeps -------------------------------------------------

--- Apps may send packets which they keep (send_shared) to ports whose drivers only read
--- what they send, and free it by reference count. Call app:send_shared(ports) of each
--- of the running apps that has it: `ports` has, by link, the struct port at the other
--- end where the app may send its packets past the link. There is none unless that is
--- `wanted`, nor with --check, which follows each.
function direct_ports.tell_shared(apps, links, wanted)
  local ports = {}
  for name, app in pairs(apps) do
    if app.send_shared then ports[name] = {} end
  end
  if not next(ports) then return end
  for spec, l in pairs(wanted and not mode.on and links or {}) do
    local from, _, to = config.parse_link(spec)
    local app = apps[to]
    if ports[from] and app and app.takes_shared then
      ports[from][l] = direct_ports.of(app, "push")
    end
  end
  for name, of in pairs(ports) do apps[name]:send_shared(of) end
end

return direct_ports
