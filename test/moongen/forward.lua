-- SPDX-License-Identifier: Apache-2.0
-- Forwards between two devices; options as argparse has them.

local device = require "device"
local lm = require "libmoon"
local memory = require "memory"
local stats = require "stats"

function configure(parser)
  parser:argument("dev", "Devices."):args(2):convert(tonumber)
  parser:option("-t --threads"):args(1):convert(tonumber):default(1)
  parser:option("-p --pcap"):args("*"):combine()
  return parser:parse()
end

function master(args)
  for i, id in ipairs(args.dev) do
    args.dev[i] = device.config{port = id, rxQueues = args.threads,
      txQueues = args.threads, rssQueues = args.threads}
  end
  device.waitForLinks()
  stats.startStatsTask{devices = args.dev}
  for i = 0, args.threads - 1 do
    lm.startTask("forward", args.dev[1]:getRxQueue(i), args.dev[2]:getTxQueue(i))
    lm.startTask("forward", args.dev[2]:getRxQueue(i), args.dev[1]:getTxQueue(i))
  end
  print("filter", args.pcap)
  lm.waitForTasks()
end

function forward(rx, tx)
  local bufs = memory.bufArray()
  while lm.running() do
    tx:sendN(bufs, rx:recv(bufs))
  end
end
