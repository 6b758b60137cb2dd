-- SPDX-License-Identifier: Apache-2.0
-- Writes what device 0 receives into a savefile, in a task, and sends it back on the
-- device. With a limit, no file gets larger than so many bytes.

local device = require "device"
local lm = require "libmoon"
local memory = require "memory"
local pcap = require "pcap"

function configure(parser)
  parser:argument("file", "The savefile.")
  parser:option("-l --limit", "Bytes."):convert(tonumber)
  return parser:parse()
end

function master(args)
  local dev = device.config{port = 0}
  if args.limit then
    local resource = require("posix.sys.resource")
    assert(resource.setrlimit(resource.RLIMIT_FSIZE,
      {rlim_cur = args.limit, rlim_max = args.limit}))
  end
  lm.startTask("capture", dev:getRxQueue(0), dev:getTxQueue(0), args.file)
  lm.waitForTasks()
end

function capture(rx, tx, file)
  local writer, bufs = pcap:newWriter(file), memory.bufArray()
  while lm.running() do
    local n = rx:recv(bufs)
    for i = 1, n do writer:writeBuf(lm.getTime(), bufs[i]) end
    tx:sendN(bufs, n)
  end
  writer:close()
end
