-- SPDX-License-Identifier: Apache-2.0
-- A worker's part of the graph: as a configuration for the engine of the main thread,
-- or as a message for a worker's.

local RemoteApp = require("core.cpus.remote_app")
local config = require("core.config")
local messages = require("core.cpus.messages")
local rings = require("core.cpus.rings")

local parts = {}

-- Which half of each link that leaves the part is here.
local function halves_of(p)
  local halves = {}
  for spec in pairs(p.links) do
    local from, _, to = config.parse_link(spec)
    if not p.apps[to] then halves[spec] = "tx" end
    if not p.apps[from] then halves[spec] = "rx" end
  end
  return halves
end

--- The part as a configuration of this state; `halves` says of which links only a half
--- is in it (core.link).
function parts.configuration(p)
  local c = config.new()
  for name, app in pairs(p.apps) do c.apps[name] = app end
  for name, remote in pairs(p.remote) do
    c.apps[name] = {class = RemoteApp, arg = rings.ends(remote)}
  end
  for spec in pairs(p.links) do c.links[spec] = true end
  c.halves = halves_of(p)
  return c
end

--- The part as plain data. Raises a failure if it can't be sent.
function parts.message(p)
  local message = {apps = {}, remote = {}, links = {}, halves = halves_of(p)}
  for _, name in ipairs(config.sorted_keys(p.apps)) do
    local app = p.apps[name]
    message.apps[name] = {class = messages.class(name, app.class),
                          arg = messages.argument(name, app.arg),
                          on_error = app.on_error}
  end
  for name, remote in pairs(p.remote) do message.remote[name] = rings.ends(remote) end
  for spec in pairs(p.links) do message.links[spec] = true end
  return message
end

--- The configuration, of what parts.message made of a part elsewhere.
function parts.received(message)
  local c = config.new()
  for name, app in pairs(message.apps) do
    c.apps[name] = {class = messages.find_class(app.class),
                    arg = messages.received(app.arg), on_error = app.on_error}
  end
  for name, ends in pairs(message.remote) do
    c.apps[name] = {class = RemoteApp, arg = ends}
  end
  for spec in pairs(message.links) do c.links[spec] = true end
  c.halves = message.halves
  return c
end

return parts
