-- SPDX-License-Identifier: Apache-2.0
-- Bursts that device 0 refuses whole, since a buffer is in them twice or was sent, and
-- then takes without it: of one length, and of several. Prints its counts.

local device = require "device"
local ffi = require "ffi"
local memory = require "memory"
require "dpdkc"

local SIZE, N = 60, 70 -- buffers; the one at place TWICE is wrong
local TWICE = 66

local function refused(queue, bufs)
  local good, why = pcall(queue.send, queue, bufs)
  return not good and why:match("sent or freed already") ~= nil
end

function master()
  local dev = device.config{port = 0}
  local queue, mem = dev:getTxQueue(0), memory.createMemPool()
  local bufs, gone = mem:bufArray(N), mem:bufArray(1)
  for step = 0, 1 do
    bufs:alloc(SIZE)
    for i, buf in ipairs(bufs) do buf:setSize(SIZE + (i - 1) * step) end
    local own = bufs[TWICE]
    bufs[TWICE] = bufs[1]
    print("twice", refused(queue, bufs))
    gone:alloc(SIZE)
    bufs[TWICE] = gone[1]
    queue:send(gone)
    print("gone", refused(queue, bufs))
    bufs[TWICE] = own
    print("sent", queue:send(bufs))
  end
  local again = mem:bufArray(2)
  gone:alloc(SIZE)
  ffi.C.rte_mbuf_refcnt_update_export(gone[1], 1)
  again[1], again[2] = gone[1], gone[1]
  print("two references", queue:send(again))
  print("counted", dev:getTxStats())
end
