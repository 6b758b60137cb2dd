-- SPDX-License-Identifier: Apache-2.0
-- For soak.py: joins two ports, and changes the graph every second: apps start anew,
-- come and go, or move between CPUs; ports are opened and closed; what can't be had is
-- asked for. Every fourth time it is the plain graph, of which it says "plain" and what
-- its memory holds, and which stays for another time. Before each change it says
-- "next". Arguments: the two ports, a third one, a folder, a seed, and the seconds
-- between two changes.

local C = require("core.native")
local account = require("core.engine.account")
local affinity = require("core.cpus.affinity")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local engine = require("core.app")
local Fwd = require("apps.fwd.fwd").Fwd
local health = require("core.watch.health")
local pool = require("core.pool")
local Port = require("apps.port.port").Port
local pair_graph = require("pair_graph")
local RateLimiter = require("apps.rate_limiter.rate_limiter").RateLimiter

local left, right, spare, folder, seed, period = ...
local cpus = affinity.cpus()
math.randomseed(tonumber(seed))

local function plain() return pair_graph(left, right) end

-- A port that gets a copy of what passes, and whose packets end.
local function copy_to(c, name, port)
  config.app(c, name, Port, port)
  config.app(c, name .. "_end", basic.Sink)
  config.link(c, ("tee.%s -> %s.input"):format(name, name))
  config.link(c, ("%s.output -> %s_end.input"):format(name, name))
end

-- Packets of a file into another, through a few apps.
local function load_beside(c)
  config.app(c, "file", Port, ("pcap:rx=%s/in.pcap"):format(folder))
  config.app(c, "limit", RateLimiter, {rate = 2e6, bucket_capacity = 1e5})
  config.app(c, "one", Port, "ring:soak")
  config.app(c, "two", Port, "ring:soak")
  config.app(c, "sink", Port, ("pcap:tx=%s/out.pcap"):format(folder))
  for _, spec in ipairs{"file.output -> limit.input", "limit.output -> one.input",
                        "two.output -> sink.input"} do
    config.link(c, spec)
  end
end

local most = 0 -- apps beside, the last time

local changes = {
  function (c) config.app(c, "there2", Fwd, math.random(1e6)) end,
  function (c)
    most = most == 0 and 10 or math.random(10)
    for i = 1, most do
      config.app(c, "beside" .. i, basic.Tee)
      config.link(c, ("beside%d.o -> beside%d.i"):format(i, i))
    end
  end,
  function (c)
    for _, name in ipairs{"there1", "tee", "back2"} do
      config.cpu(c, name, cpus[math.random(#cpus)])
    end
  end,
  function (c) copy_to(c, "memif", ("memif:%s/memif,role=server"):format(folder)) end,
  function (c)
    copy_to(c, "guest", ("virtio-user:%s/guest,server=1"):format(folder))
  end,
  function (c) copy_to(c, "host", ("vhost:%s/host"):format(folder)) end,
  function (c) copy_to(c, "tap", "tap:made") end,
  function (c) copy_to(c, "spare", spare) end,
  load_beside,
}

-- Errors: refused, and the graph stays as it is.
local refusals = {
  function (c) config.link(c, "there1.output -> nowhere.input") end,
  function (c) config.app(c, "bad", Port, "packet:nosuch0") end,
  function (c) config.app(c, "bad", Port, ("memif:%s/nobody"):format(folder)) end,
  function (c) config.app(c, "bad", Port, left) end,
  function (c) config.cpu(c, "there2", 100000) end,
  function (c)
    config.app(c, "there2", Fwd, "another")
    config.app(c, "bad", {new = function () error("it doesn't start") end})
  end,
}

local function refuse()
  for _ = 1, 3 do
    assert(not pcall(function ()
      local c = plain()
      refusals[math.random(#refusals)](c)
      engine.configure(c)
    end))
  end
end

local function say_plain()
  local a = account.packets(engine.link_table)
  assert(a.held == 0 and a.in_rings == 0, a.held)
  collectgarbage()
  collectgarbage()
  local used = C.pg_pool_size() - C.pg_pool_available() - pool.freelist.nfree
  print(("plain %d %d %d %d"):format(collectgarbage("count"), used, C.pg_pool_size(),
    health.flushes))
end

local rounds, chosen = 0, 0
local function change()
  rounds = rounds + 1
  if rounds % 4 == 1 then return end -- the plain graph stays: soak.py looks at it
  print("next")
  io.stdout:flush()
  if rounds % 4 == 0 then
    engine.configure(plain())
    return say_plain()
  elseif chosen >= #changes and math.random(4) == 1 then
    refuse()
    print("refused")
    return
  end
  local c = plain()
  chosen = chosen + 1 -- at first each of them once
  changes[chosen <= #changes and chosen or math.random(#changes)](c)
  if math.random(3) == 1 then changes[math.random(3)](c) end
  local ok, err = pcall(engine.configure_meanwhile, c)
  -- The spare interface may be down just now.
  if not ok and not c.apps.spare then error(err, 0) end
  print(ok and "changed" or "refused")
end

engine.configure(plain())
timer.activate(timer.new("change", function ()
  change()
  io.stdout:flush()
end, tonumber(period) * 1e9, "repeating"))
engine.main()
