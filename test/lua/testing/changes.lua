-- SPDX-License-Identifier: Apache-2.0
-- For specs of reconfiguration: graphs from tables, and apps that note what the engine
-- calls of them.

local config = require("core.config")
local engine = require("core.app")
local testing = require("testing.support")

local changes = {}

local EVERYTHING = {"stop", "link", "unlink", "reconfig", "pull", "push"}

--- A configuration of {NAME = {CLASS, ARG}} and a list of links.
function changes.graph(apps, links)
  local c = config.new()
  for name, app in pairs(apps) do config.app(c, name, app[1], app[2]) end
  for _, spec in ipairs(links or {}) do config.link(c, spec) end
  return c
end

--- The sentence that engine.configure refuses the configuration with; false if it
--- doesn't.
function changes.refused(c)
  local ok, err = pcall(engine.configure, c)
  return not ok and tostring(err)
end

--- A class that notes its calls in the list `log`; and noted(), which returns what was
--- noted since the last call.
function changes.noting()
  local log = {}
  local function noted()
    local copy = {}
    for i = #log, 1, -1 do copy[i], log[i] = log[i], nil end
    return copy
  end
  return testing.noting_class(log, EVERYTHING), noted, log
end

return changes
