-- SPDX-License-Identifier: Apache-2.0
-- The calls of a breath. Each loop is numeric and in a function of its own: LuaJIT
-- compiles those well, whatever it sees first.

local culprit = require("core.engine.culprit")

local move = {}

--- Let each of the list of apps pull (core.engine.order).
function move.pull(apps)
  for i = 1, apps.n do apps[i]:pull() end
end

--- Make the calls push(app, link) of the lists.
function move.push(calls)
  local push, app, l = calls.push, calls.app, calls.link
  for i = 1, calls.n do push[i](app[i], l[i]) end
end

culprit.watch(move.pull, 1, 2)
culprit.watch(move.push, 3, 5)

return move
