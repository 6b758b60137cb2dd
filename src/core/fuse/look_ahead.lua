-- SPDX-License-Identifier: Apache-2.0
-- Apps that ask the memory for what packets will need (ahead(packets, n)): a packet's
-- own way through a region leaves no time for that. So a region is cut before such an
-- app, and all of a burst comes to it before the first packet is processed. That costs
-- each packet some cycles, and is worth it once the app's state has outgrown the caches
-- (outgrows_cache()).

local log = require("core.lib.log")

local look_ahead = {}

local broken = setmetatable({}, {__mode = "k"}) -- apps that have raised an error

-- Packets need it only to be faster: so it is told, and the app goes on without.
local function give_up(name, app, err)
  broken[app] = true
  log.warning("app '%s' doesn't look ahead any more: %s", name, tostring(err))
end
jit.off(give_up)

--- Does the app `name` look ahead, as large as its state is now?
function look_ahead.wanted(name, app)
  if type(app.ahead) ~= "function" or broken[app] then return false end
  if not app.outgrows_cache then return true end
  local ok, result = pcall(app.outgrows_cache, app)
  if not ok then give_up(name, app, result) end
  return ok and result and true or false
end

--- `fetch`, which puts packets into an array and returns their number, for those that
--- the app `name` is given next.
function look_ahead.fetch(name, app, fetch)
  local ahead, works = app.ahead, true
  return function (to)
    local n = fetch(to)
    if n > 0 and works then
      local ok, err = pcall(ahead, app, to, n)
      works = ok
      if not ok then give_up(name, app, err) end
    end
    return n
  end
end

return look_ahead
