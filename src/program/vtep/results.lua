-- SPDX-License-Identifier: Apache-2.0
-- What `perigee vtep` writes as JSON: its counters (--json), and with the forwarding
-- table (--state).

local cjson = require("cjson")
local engine = require("core.app")
local files = require("core.lib.files")
local state = require("apps.vtep.state")

local M = {}

local APPS = {"ingress", "encap", "decap"}

-- cjson takes an empty list for an object.
local function array(list)
  local parts = {}
  for i, item in ipairs(list) do parts[i] = cjson.encode(item) end
  return "[" .. table.concat(parts, ",") .. "]"
end

-- The drops that aren't 0, by app and name.
local function drops()
  local all = {}
  for _, app in ipairs(APPS) do
    all[app] = {}
    for name, n in pairs(engine.drops("vtep_" .. app)) do
      if n > 0 then all[app][name] = n end
    end
  end
  return all
end

local function object(fields)
  local parts = {}
  for i, field in ipairs(fields) do
    parts[i] = cjson.encode(field[1]) .. ":" .. field[2]
  end
  return "{" .. table.concat(parts, ",") .. "}\n"
end

local function fields(tunnel)
  local s = tunnel.settings
  return {
    {"address", cjson.encode(s.address_text)}, {"mac", cjson.encode(s.mac_text)},
    {"vnis", array(state.vnis(tunnel))}, {"remotes", array(state.remotes(tunnel))},
    {"gone", cjson.encode(state.gone(tunnel))}, {"drops", cjson.encode(drops())},
  }
end

--- The counters of a tunnel whose apps are running, as a line of JSON.
function M.counters(tunnel) return object(fields(tunnel)) end

--- Write the counters and the forwarding table to `path`, all at once: who reads the
--- file sees the old one or the new one. Raises a failure if that isn't possible.
function M.save_state(path, tunnel)
  local all = fields(tunnel)
  all[#all + 1] = {"entries", array(state.entries(tunnel))}
  files.exchange(path, object(all))
end

return M
