-- SPDX-License-Identifier: Apache-2.0
-- Apps that ask the memory for what packets will need (ahead(packets, n)): a packet's
-- own way through a region leaves no time for that. So a region is cut before such an
-- app, and all of a burst comes to it before the first packet is processed. That costs
-- each packet some cycles, and is worth it once the app's state has outgrown the caches
-- (outgrows_cache()).

local log = require("core.lib.log")

local look_ahead = {}

--- Does the app look ahead, as large as its state is now?
function look_ahead.wanted(app)
  if type(app.ahead) ~= "function" then return false end
  return not app.outgrows_cache or app:outgrows_cache() and true or false
end

--- `fetch`, which puts packets into an array and returns their number, for those that
--- the app `name` is given next. An app whose ahead() raises an error doesn't look
--- ahead any more: packets need it only to be faster.
function look_ahead.fetch(name, app, fetch)
  local ahead, works = app.ahead, true
  local function fail(err)
    works = false
    log.warning("app '%s' doesn't look ahead any more: %s", name, tostring(err))
  end
  jit.off(fail)
  return function (to)
    local n = fetch(to)
    if n > 0 and works then
      local ok, err = pcall(ahead, app, to, n)
      if not ok then fail(err) end
    end
    return n
  end
end

return look_ahead
