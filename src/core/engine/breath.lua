-- SPDX-License-Identifier: Apache-2.0
-- The calls of a breath. Each loop is numeric and in a function of its own: LuaJIT
-- compiles those well, whatever it sees first.

local running_app = require("core.watch.running_app")

local move = {}

--- Let each of the list of apps pull (core.engine.order).
function move.pull(apps)
  for i = 1, apps.n do apps[i]:pull() end
end

--- How often calls with `ports` are made in a breath, while those give full bursts.
move.ROUNDS = 4
local ROUNDS = move.ROUNDS

local function push_each(calls)
  local push, app, l = calls.push, calls.app, calls.link
  for i = 1, calls.n do push[i](app[i], l[i]) end
end

-- Did one of the ports (struct port) give a full burst the last time?
local function any_full(ports)
  for i = 1, #ports do
    if ports[i].full ~= 0 then return true end
  end
  return false
end

--- Call push(calls, first) with the calls of a breath; and again while one of their
--- `ports`, if they have a list of those (core.engine.order), gives full bursts: what
--- a breath costs by itself then counts for less.
function move.rounds(push, calls, first)
  push(calls, first)
  local ports = calls.ports
  if not ports then return end
  for _ = 2, ROUNDS do
    if not any_full(ports) then return end
    push(calls, first)
  end
end
local rounds = move.rounds

--- Make the calls push(app, link) of the lists.
function move.push(calls)
  rounds(push_each, calls)
end

running_app.loop(move.pull, 1, 2)
running_app.loop(push_each, 3, 5)

return move
