-- SPDX-License-Identifier: Apache-2.0
-- Which driver apps on one card (apps.intel_mp.sharing) receive copies of what others
-- do, and the links for that. Pure.

local Mirror = require("apps.intel_mp.mirror")
local Pool = require("apps.intel_mp.pool")
local failure = require("core.failure")

local mirrors = {}

--- Who mirrors what: for each app that does, {app =, pool = true or a set of numbers,
--- received =, sent =}. Raises a failure if they are too many.
function mirrors.of(apps)
  local list = {}
  for _, app in ipairs(apps) do
    local mirror = app.arg.mirror
    if mirror then
      local pool, port = mirror.pool, mirror.port
      if type(pool) == "table" then
        pool = {}
        for _, number in ipairs(mirror.pool) do pool[number] = true end
      end
      list[#list + 1] = {app = app.name, pool = pool,
        received = port == true or port == "in" or port == "inout",
        sent = port == true or port == "out" or port == "inout"}
    end
  end
  if #list > Pool.MOST_MIRRORS then
    failure.usage("%d apps on %s have a mirror; there may be %d", #list,
      apps[1].arg.pciaddr, Pool.MOST_MIRRORS)
  end
  return list
end

--- Copies of what an app of the pool receives, for those of the `list` who mirror it;
--- returns how many there are.
function mirrors.of_pool(part, list, pool, app)
  local n = 0
  for _, mirror in ipairs(list) do
    local wanted = mirror.pool == true or mirror.pool and mirror.pool[pool.number]
    if wanted and mirror.app ~= app.name then
      n = n + 1
      part:link(("%s.mirror%d"):format(app.name, n), mirror.app .. ".mirrored")
    end
  end
  return n
end

--- Copies of what passes the wire at the ends `from` and `to`, by an app `name`;
--- returns the ends behind it.
function mirrors.of_wire(part, list, name, from, to)
  local received, sent = {}, {}
  for i, mirror in ipairs(list) do
    if mirror.received then received[#received + 1] = i end
    if mirror.sent then sent[#sent + 1] = i end
  end
  if #received + #sent == 0 then return from, to end
  part:app(name, Mirror, {received = received, sent = sent})
  part:link(from, name .. ".wire")
  part:link(name .. ".wire", to)
  for i, mirror in ipairs(list) do
    if mirror.received or mirror.sent then
      part:link(("%s.mirror%d"):format(name, i), mirror.app .. ".mirrored")
    end
  end
  return name .. ".inside", name .. ".inside"
end

return mirrors
