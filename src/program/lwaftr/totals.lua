-- SPDX-License-Identifier: Apache-2.0
-- Counters of an lwAFTR in this process: those of all its apps, by upstream's names.

local counter = require("core.counter")
local engine = require("core.app")

local M = {}

-- Upstream's softwire-state has these, by the first word of their names, but for some.
local KINDS = {["in"] = true, out = true, drop = true, hairpin = true, memuse = true,
  ingress = true}
local NOT = {["drop-arp-invalid-packets"] = true,
  ["drop-ipv4-frag-unfragmentable"] = true, ["drop-ipv4-frag-invalid-length"] = true,
  ["drop-ipv6-frag-invalid-length"] = true}

local function is_one(name)
  return KINDS[name:match("^(%a+)%-")] and not NOT[name]
end

--- All counters: a table of numbers by name.
function M.read()
  local result = {}
  for _, app in pairs(engine.app_table) do
    for name, object in pairs(app.shm or {}) do
      if type(name) == "string" and is_one(name) then
        result[name] = (result[name] or 0) + tonumber(counter.read(object))
      end
    end
  end
  return result
end

--- What has changed since `before`: only what isn't 0.
function M.differences(before, now)
  local result = {}
  for name, value in pairs(now) do
    local change = value - (before[name] or 0)
    if change ~= 0 then result[name] = change end
  end
  return result
end

return M
