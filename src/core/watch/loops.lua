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

--- The name of the app that one of these loops called, and the method; or nil.
function culprit.name()
  for level = 2, math.huge do
    local info = debug.getinfo(level, "f")
    if not info then return nil end
    local at = places[info.func]
    if at then
      local _, list = debug.getlocal(level, at.list)
      local _, index = debug.getlocal(level, at.index)
      local app = list[index]
      return app and app.appname, at.method
    end
  end
end

return culprit
