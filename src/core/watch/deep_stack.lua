-- SPDX-License-Identifier: Apache-2.0
-- For handlers of xpcall that look at the stack. After recursion without end there is
-- hardly any room on it, not even for a handler in Lua: it has a stack of its own, and
-- looks at the full one from there.

local deep_stack = {}

local make = debug.getregistry()["perigee.handler"] -- native/dpdk/handler.c
local OUTERMOST = 200 -- levels that are looked at, of the thousands there are

local function depth_of(thread)
  local low, high = 0, 1
  while debug.getinfo(thread, high, "l") do low, high = high, 2 * high end
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if debug.getinfo(thread, middle, "l") then low = middle else high = middle end
  end
  return low
end

--- A handler for xpcall: it returns f(err), which looks at the stack it is called on;
--- or f(err, level, thread), which looks at that of `thread` from `level` on.
function deep_stack.handler(f)
  return make(function (err, thread)
    if not thread then return (f(err)) end
    return (f(err, math.max(0, depth_of(thread) - OUTERMOST), thread))
  end)
end

-- Not to be compiled: here traces might begin and end where there is no room for them.
jit.off(true, true)

return deep_stack
