-- SPDX-License-Identifier: Apache-2.0
-- Emptying this engine's links before apps move to other CPUs, so that no packet is
-- lost by that: nothing new comes in, what is here goes on. The engine isn't breathing.

local breath = require("core.engine.breath")
local graph = require("core.engine.graph")
local intake = require("core.move.intake")
local link = require("core.link")

local drain = {}

local ROUNDS = 64

local held = {} -- the apps that are held back for it

local function hold_ports()
  for _, app in pairs(graph.apps) do
    if app.hold_back and not held[app] then
      held[app] = true
      intake.hold(app)
    end
  end
end

local function waiting()
  local n = 0
  for _, l in pairs(graph.links) do n = n + link.nreadable(l) + l.nhanded end
  return n
end

-- Only what stands for apps of other CPUs is pulled.
local function pull_from_others(pulls)
  for i = 1, pulls.n do
    if pulls[i].is_remote then pulls[i]:pull() end
  end
end

--- Let ports receive again.
function drain.release()
  for app in pairs(held) do
    held[app] = nil
    intake.release(app)
  end
end

-- As in a breath, an error is that of an app, and its burst is put in order.
local function push()
  local ok, err = xpcall(breath.push, graph.rescue_explained, graph.calls.pushes)
  if ok then return end
  drain.release()
  error(graph.name_call(err), 0)
end

--- Receive nothing, pull nothing but what other CPUs have sent, and push until the
--- links are empty, `rounds` times (64) at most; how many packets are in them then.
--- Raises what an app raised; then ports receive again.
function drain.here(rounds)
  hold_ports()
  for _ = 1, rounds or ROUNDS do
    pull_from_others(graph.calls.pulls)
    push()
    if waiting() == 0 then break end
  end
  return waiting()
end

return drain
