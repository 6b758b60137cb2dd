-- SPDX-License-Identifier: Apache-2.0
-- Counters of an lwAFTR, by upstream's names: sums over all its apps, as this process
-- or others read them in shared memory.

local counter = require("core.counter")
local engine = require("core.app")
local objects = require("lib.observe.objects")

local M = {}

-- Upstream's softwire-state has these, by the first word of their names, but for some.
local KINDS = {["in"] = true, out = true, drop = true, hairpin = true, memuse = true,
  ingress = true}
local NOT = {["drop-arp-invalid-packets"] = true,
  ["drop-ipv4-frag-unfragmentable"] = true, ["drop-ipv4-frag-invalid-length"] = true,
  ["drop-ipv6-frag-invalid-length"] = true}

--- Is this the name of one of upstream's counters?
function M.is_one(name)
  return KINDS[name:match("^(%a+)%-")] and not NOT[name] or false
end
local is_one = M.is_one

--- All counters of this thread's apps: a table of numbers by name.
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

--- Add to `result` the counters of a process, whose directory in shared memory is
--- `directory`: of all its apps, or of those whose names end with `suffix`.
function M.add(result, directory, suffix)
  objects.each(directory .. "/apps", function (path, file)
    local app, name = path:match("^(.*)/([^/]*)%.counter$")
    if not app or not is_one(name) then return end
    if suffix and app:sub(-#suffix) ~= suffix then return end
    local value = objects.read(file)
    if value then result[name] = (result[name] or 0) + tonumber(value) end
  end)
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
