-- SPDX-License-Identifier: Apache-2.0
-- What the tasks that answer ARP and ping share: {rxQueue =, txQueue =, ips = address
-- or list} for each device, and pipes by which other tasks hand packets over.

local pipe = require("pipe")

local responder = {}

-- Look over the device number `i`, make a list of its addresses, and its pipe, which is
-- put into `pipes` (a namespace).
local function prepare(nic, i, pipes)
  if nic.rxQueue and nic.rxQueue.id ~= nic.txQueue.id then
    error("both queues must belong to the same device", 0)
  end
  if type(nic.ips) ~= "table" then nic.ips = {nic.ips} end
  nic.pipe = pipe:newFastPipe()
  pipes[tostring(i)] = nic.pipe
end

--- The devices as a list, each looked over, also by more(nic, i).
function responder.devices(nics, pipes, more)
  if nics[1] == nil and nics.txQueue then nics = {nics} end
  for i, nic in ipairs(nics) do
    prepare(nic, i, pipes)
    more(nic, i)
  end
  return nics
end

local QUEUE_US, PIPE_US = 1000, 100

--- Call handle(nic, received) with a packet from the device's queue, and with one from
--- its pipe, if there are any within a millisecond. `received`: a bufArray of one.
function responder.receive(nic, received, handle)
  if nic.rxQueue and nic.rxQueue:tryRecvIdle(received, QUEUE_US) > 0 then
    handle(nic, received)
  end
  local buf = nic.pipe:tryRecv(PIPE_US)
  if buf then
    received[1] = buf
    handle(nic, received)
  end
end

--- A function (buf, nic) that hands a packet to the task, which frees it; `nic` is the
--- device's number in the task's list (1).
function responder.handler(name, pipes)
  return function (buf, nic)
    local to = pipes[tostring(nic or 1)]
    if not to then
      error(("%s: there is no device number %s"):format(name, tostring(nic or 1)), 2)
    end
    to:send(buf)
  end
end

return responder
