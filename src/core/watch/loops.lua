-- SPDX-License-Identifier: Apache-2.0
-- Which app was called when an error was raised: seen on the stack, so that the packet
-- path needn't note it. To be called by the handler of xpcall.
--
-- After compiled code has raised an error, only what is needed further on is sound in
-- the stack. Of a loop over apps that is the list and the hidden index, no more.

local culprit = {}

local places = {} -- [FUNCTION] = {list =, index =, method =}

--- The function loops over a list of apps, which is its local variable number `list`;
--- number `index` is the loop's hidden index. It calls their `method`.
function culprit.watch(loop, list, index, method)
  places[loop] = {list = list, index = index, method = method}
end

local function function_at(level, thread)
  if thread then return debug.getinfo(thread, level, "f") end
  return (debug.getinfo(level + 1, "f"))
end

local function variable(level, n, thread)
  if thread then return select(2, debug.getlocal(thread, level, n)) end
  return (select(2, debug.getlocal(level + 1, n)))
end

--- The name of the app that one of these loops called, and the method; or nil. Looks at
--- the stack from `first` on, of `thread` (core.watch.deep_stack).
function culprit.name(first, thread)
  for level = first or 2, math.huge do
    local info = function_at(level, thread)
    if not info then return nil end
    local at = places[info.func]
    if at then
      local list, index = variable(level, at.list, thread), variable(level, at.index,
        thread)
      local app = list[index]
      return app and app.appname, at.method
    end
  end
end

jit.off(true, true) -- see core.watch.deep_stack

return culprit
