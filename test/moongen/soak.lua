-- SPDX-License-Identifier: Apache-2.0
-- Forwards for a long time, between the far ends of two rings: devices 0 and 1 are the
-- ends of one, 2 and 3 of the other. What is sent on 0 now and then, after sleeping, is
-- forwarded from 1 to 2 and counted on 3. Prints the memory of the process meanwhile,
-- and in the end what was sent, came and was lost, and the buffers that pools haven't
-- back. Fails if packets or buffers are missing, or if memory grew in the last three
-- quarters of a run of ten minutes or more. `make moongensoak` runs it for an hour.

local device = require "device"
local leaks = require "moongen.memory.leaks"
local lm = require "libmoon"
local memory = require "memory"
local namespaces = require "namespaces"

local SAMPLES = 20
local END_SECONDS = 20 -- that what is under way may take
local PAGE_KB = 4
local LONG_SECONDS, MOST_KB = 600, 1024 -- of a long run, memory grows by no more

function configure(parser)
  parser:option("-t --time", "Seconds."):default(60):convert(tonumber)
  parser:option("-p --pause", "Longest sleep, in ms."):default(50):convert(tonumber)
  return parser:parse()
end

-- Memory of the process that is in RAM, in KB.
local function resident()
  collectgarbage()
  local file = io.open("/proc/self/statm")
  local pages = file:read("*l"):match("^%d+ (%d+)")
  file:close()
  return tonumber(pages) * PAGE_KB
end

-- Whether it stays as it is after the first quarter.
local function watch_memory(seconds)
  local kb = {}
  for i = 1, SAMPLES do
    lm.sleepMillisIdle(seconds * 1000 / SAMPLES)
    if not lm.running() then return true end
    kb[i] = resident()
    print("resident", i, kb[i])
    io.stdout:flush()
  end
  return seconds < LONG_SECONDS or kb[SAMPLES] - kb[SAMPLES / 4] <= MOST_KB
end

function master(args)
  local devs = {}
  for id = 0, 3 do devs[id] = device.config{port = id} end
  local counted = namespaces:get("soak")
  counted.n = 0
  local tasks = {
    lm.startTask("send", devs[0]:getTxQueue(0), args.time, args.pause),
    lm.startTask("forward", devs[1]:getRxQueue(0), devs[2]:getTxQueue(0)),
    lm.startTask("forward", devs[2]:getRxQueue(0), devs[1]:getTxQueue(0)),
    lm.startTask("count", devs[3]:getRxQueue(0)),
  }
  local flat = watch_memory(args.time)
  local sent = tasks[1]:wait()
  local function lost()
    return tonumber(devs[1]:getStats().imissed + devs[3]:getStats().imissed)
  end
  local ends = lm.getTime() + END_SECONDS
  while counted.n + lost() < sent and lm.getTime() < ends and lm.running() do
    lm.sleepMillisIdle(10)
  end
  lm.stop()
  lm.waitForTasks()
  local missing = leaks.missing()
  print("packets", sent, counted.n, lost())
  print("missing", missing)
  if sent ~= counted.n + lost() then error("packets are missing") end
  if missing ~= 0 then error("buffers are missing") end
  if not flat then error("memory grew") end
end

-- Bursts of all sizes, and pauses of all lengths.
function send(queue, seconds, pause)
  local bufs, sent = memory.createMemPool():bufArray(128), 0
  local ends = lm.getTime() + seconds
  while lm.running() and lm.getTime() < ends do
    for _ = 1, math.random(50) do
      bufs:resize(math.random(128))
      bufs:alloc(math.random(60, 1500))
      sent = sent + queue:send(bufs)
    end
    lm.sleepMillisIdle(math.random(0, pause))
  end
  return sent
end

function forward(from, to)
  local bufs = memory.bufArray()
  while lm.running() do to:sendN(bufs, from:recv(bufs)) end
end

function count(queue)
  local bufs, counted, n = memory.bufArray(), namespaces:get("soak"), 0
  while lm.running() do
    local got = queue:tryRecvIdle(bufs, 100000)
    bufs:free(got)
    n = n + got
    counted.n = n
  end
end
