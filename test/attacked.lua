-- SPDX-License-Identifier: Apache-2.0
-- For test_attacks.py: joins two ports, each way by apps that only pass packets on, and
-- copies what passes to others. Arguments: the two ports; what is done to it meanwhile,
-- with a pause of 0.2 s in between ("refuse", "move", "change" or "nothing"); ports for
-- the copies.

local C = require("core.native")
local config = require("core.config")
local engine = require("core.app")
local affinity = require("core.cpus.affinity")
local basic = require("apps.basic.basic_apps")
local Fwd = require("apps.fwd.fwd").Fwd
local Port = require("apps.port.port").Port
local pair_graph = require("pair_graph")
local RateLimiter = require("apps.rate_limiter.rate_limiter").RateLimiter

local left, right, attack = ...
local copies = {select(4, ...)}
local PAUSE_S = 0.2
local cpus = affinity.cpus()

local function graph()
  local c = pair_graph(left, right)
  for i, port in ipairs(copies) do
    config.app(c, "copy" .. i, Port, port)
    config.link(c, ("tee.copy%d -> copy%d.input"):format(i, i))
  end
  return c
end

-- What can't be had, before anything changes, or when some of it has changed.
local refusals = {
  function (c) config.link(c, "there1.output -> nowhere.input") end,
  function (c) config.app(c, "bad", Port, "packet:nosuch0") end,
  function (c) config.app(c, "bad", Port, left) end,
  function (c) config.app(c, "bad", Port, "null:size=9") end,
  function (c) config.app(c, "bad", {}) end,
  function (c) config.app(c, "bad", RateLimiter, {rate = "fast"}) end,
  function (c) config.cpu(c, "there2", 100000) end,
  function (c)
    config.app(c, "bad", {new = function () error("it doesn't start") end})
  end,
  function (c) -- the path is another then, but for the app that doesn't start
    config.app(c, "there2", Fwd, "another argument")
    config.app(c, "bad", {new = function () error("it doesn't start") end})
    config.link(c, "there3.other -> bad.input")
  end,
}

local rounds = 0
local attacks = {}

function attacks.nothing() end

function attacks.refuse()
  local which = rounds % #refusals + 1
  local ok, problem = pcall(function ()
    local c = graph()
    refusals[which](c)
    engine.configure(c)
  end)
  assert(not ok, which)
  print("refused: " .. tostring(problem):gsub("\n.*", ""))
end

-- Each time another part of the path on another CPU, or none.
function attacks.move()
  local c = graph()
  for i, name in ipairs{"there1", "there2", "tee", "there3", "back2"} do
    local at = bit.band(bit.rshift(rounds * 13, i), 3)
    if at > 0 then config.cpu(c, name, cpus[at] or cpus[1]) end
  end
  engine.configure(c)
  print("moved")
end

-- Apps on the path start anew, and others come and go.
function attacks.change()
  local c = graph()
  config.app(c, "there2", Fwd, rounds)
  if rounds % 2 == 0 then
    for i = 1, 10 do
      config.app(c, "beside" .. i, basic.Tee)
      config.link(c, ("beside%d.o -> beside%d.i"):format(i, i))
    end
  end
  engine.configure(c)
  print("changed")
end

engine.configure(graph())
local next_at = 0
timer.activate(timer.new("attack", function ()
  if C.pg_monotonic() < next_at then return end
  rounds = rounds + 1
  attacks[attack]()
  io.stdout:flush()
  next_at = C.pg_monotonic() + PAUSE_S -- on a busy machine a change may take long
end, 1e7, "repeating"))
engine.main()
