-- SPDX-License-Identifier: Apache-2.0
-- Measures over a ring from device 0 to queues 1, 0 and 1 of device 1 in turn, each by
-- a task of its own. Prints whether the packets came there; those to 0 have a tag.

local device = require "device"
local lm = require "libmoon"
local ts = require "timestamping"

local TRIES, WAIT_MS = 5, 1000

function master()
  local from, to = device.config{port = 0}, device.config{port = 1, rxQueues = 2}
  for _, udp in ipairs{false, true} do
    for _, qid in ipairs{1, 0, 1} do
      local came = lm.startTask("measure", from:getTxQueue(0), to:getRxQueue(qid),
        udp):wait()
      print("came", udp, qid, came)
    end
  end
end

function measure(tx, rx, udp)
  local timestamper = ts:newTimestamper(tx, rx, nil, udp)
  for _ = 1, TRIES do
    local _, came = timestamper:measureLatency(nil, function (buf)
      if rx.qid == 0 then buf:setVlan(1234) end
    end, WAIT_MS)
    if came > 0 then return true end
  end
  return false
end
