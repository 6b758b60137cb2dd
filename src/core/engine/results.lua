-- SPDX-License-Identifier: Apache-2.0
-- What a run has measured, for programs that run experiments, such as NPF (`pip install
-- npf`), as lines "RESULT-NAME value": in base units, without prefixes. With --results
-- every program prints "EVENT ready" once its graph runs, a line
-- "SECONDS-RESULT-PPS value" each second, and the rest when it ends.

local C = require("core.native")
local account = require("core.engine.account")
local files = require("core.lib.files")
local link = require("core.link")
local pool = require("core.pool")
local timer = require("core.timer")

local results = {}

local SECOND = 1e9 -- in nanoseconds, as timers are set

local wanted, ready, printed = false, false, false
local sum = {time = 0, cpu = 0, packets = 0, bits = 0}
local began -- a snapshot, while the engine runs
local links = {} -- the running ones
local older = {} -- files
local own = {} -- what programs add: {name, value}

--- Let results be printed.
function results.want() wanted = true end

--- Are they?
function results.wanted() return wanted end

local function say(name, value)
  io.stdout:write(("%s %.9g\n"):format(name, value))
  io.stdout:flush()
end

-- Packets that have come to an end, and their bits on the wire.
local function snapshot()
  local packets, bits = account.ended()
  return {time = C.pg_monotonic(), cpu = C.pg_cpu_seconds(), packets = packets,
          bits = bits}
end

local last -- the snapshot of the last second

local function each_second()
  if not began then return end
  local now = snapshot()
  local elapsed = now.time - last.time
  if elapsed > 0 then
    say(("%.3f-RESULT-PPS"):format(sum.time + now.time - began.time),
      (now.packets - last.packets) / elapsed)
  end
  last = now
end

--- The file has results of an earlier run, and those of this one come in their place.
--- It is emptied once the engine runs: a run that is interrupted leaves no older
--- results, and one that is refused changes nothing.
function results.replaces(path) older[#older + 1] = path end

--- The engine begins to run; `running` are its links.
function results.begin(running)
  for _, path in ipairs(older) do pcall(files.replace, path, "") end
  older = {}
  if not wanted then return end
  if not ready then
    ready = true
    io.stdout:write("EVENT ready\n")
    io.stdout:flush()
    timer.activate(timer.new("results", each_second, SECOND, "repeating"))
  end
  links = running
  began = snapshot()
  last = began
end

--- It stops running.
function results.pause()
  if not (wanted and began) then return end
  local now = snapshot()
  for key, value in pairs(sum) do sum[key] = value + now[key] - began[key] end
  began = nil
end

--- Print the value of `name` with the others: of what the program knows better. Names
--- become capitals, digits and hyphens; there's nothing to print of nil.
function results.add(name, value)
  if not value then return end
  name = name:upper():gsub("[^%w]+", "-"):gsub("^%-", ""):gsub("%-$", "")
  own[#own + 1] = {name, value}
end

-- Packets that links had no room for, or that ports couldn't send.
local function lost()
  local n = tonumber(pool.freelist.port_drops)
  for _, l in pairs(links) do n = n + link.stats(l).txdrop end
  return n
end

local function print_own()
  for _, result in ipairs(own) do say("RESULT-" .. result[1], result[2]) end
end

--- Print the results, once: when the program ends. Those of the engine are there if it
--- has run.
function results.print()
  if not wanted or printed then return end
  printed = true
  if not ready then return print_own() end
  local seconds = math.max(sum.time, 1e-9)
  say("RESULT-TIME", sum.time)
  say("RESULT-PACKETS", sum.packets)
  say("RESULT-PPS", sum.packets / seconds)
  say("RESULT-THROUGHPUT", sum.bits / seconds)
  say("RESULT-CPU", sum.cpu / seconds)
  say("RESULT-LOST", lost())
  if sum.packets > 0 then
    say("RESULT-CYCLES", sum.cpu * tonumber(C.pg_tsc_hz()) / sum.packets)
  end
  print_own()
end

return results
