-- SPDX-License-Identifier: Apache-2.0
-- Which apps are ports that packets can come from, or go to, past their methods. Pure.

local config = require("core.config")

local device = {}

--- The struct port of a running app (or of nil) whose `method`, "pull" or "push", is
--- its class's that allows to go past it (Port.direct), or nil. What replaces that has
--- its effect, as pull = false has of a card that is to receive nothing.
function device.of(app, method)
  return app and app.direct and app[method] == app.direct[method] and app.port or nil
end

--- How many of the `links` (their texts are the keys) leave each app, by its name.
function device.leaving(links)
  local count = {}
  for spec in pairs(links) do
    local from = config.parse_link(spec)
    count[from] = (count[from] or 0) + 1
  end
  return count
end

return device
