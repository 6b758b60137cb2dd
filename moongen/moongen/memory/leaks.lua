-- SPDX-License-Identifier: Apache-2.0
-- Buffers that no pool has back when a script has ended. As many as its arrays have
-- slots may be in its hands; what is missing beyond that was neither sent nor freed.

local C = require("core.declare")("native/moongen.h")
local pools = require("moongen.memory.pools")

local leaks = {}

--- Buffers missing in all pools: in those of scripts, and in those that ports receive
--- into.
function leaks.missing()
  local n, list = 0, {}
  for i, pool in ipairs(pools.all()) do
    local missing = pool.n - pools.left(pool)
    n = n + missing
    if missing > 0 then
      list[#list + 1] = ("%d of pool %d's %d"):format(missing, i, pool.n)
    end
  end
  local received = C.pg_pool_size() - C.pg_pool_available()
  if received > 0 then list[#list + 1] = ("%d received"):format(received) end
  return n + received, list
end

--- Warn if there are more than a script may still have in its arrays.
function leaks.tell()
  local n, list = leaks.missing()
  local most = pools.places()
  if n <= most then return end
  require("moongen.log"):warn("buffers were neither sent nor freed: %s; arrays have "
    .. "room for %d", table.concat(list, ", "), most)
end

return leaks
