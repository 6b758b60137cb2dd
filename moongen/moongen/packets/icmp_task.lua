-- SPDX-License-Identifier: Apache-2.0
-- libmoon's proto.icmp: a task that answers pings (ICMP for IPv4, RFC 792).

local echo = require("net.icmp.echo")
local libmoon = require("libmoon")
local memory = require("memory")
local namespaces = require("namespaces")
local proto = require("moongen.packets.proto")
local responder = require("moongen.packets.responder")

local icmp = proto.icmp

local TTL = 64

local pipes = namespaces:get("moongen.icmp.pipes")

--- Start the task on a shared core, for a list of {rxQueue =, txQueue =, ips = address
--- or list}, or one. Without rxQueue, packets come by handlePacket.
function icmp.startIcmpTask(queues)
  libmoon.startSharedTask("__LM_ICMP_TASK", queues)
end

local function handle(nic, received)
  local buf = received[1]
  local data, pkt = buf:getBytes(), buf:getIcmpPacket()
  local at = echo.request4(data, buf:getSize())
  if at == 0 or not nic.own[pkt.ip4.dst:getString()] then return received:freeAll() end
  echo.turn4(data, at, TTL)
  pkt.eth.src:set(nic.txQueue.dev:getMac(true))
  nic.txQueue:send(received)
end

local function prepare(nic)
  nic.own = {}
  for _, ip in ipairs(nic.ips) do
    nic.own[ip] = true
    if nic.rxQueue then
      nic.rxQueue.dev:fiveTupleFilter({dstIp = ip, proto = proto.ip4.PROTO_ICMP},
        nic.rxQueue)
    end
  end
end

local function task(nics)
  nics = responder.devices(nics, pipes, prepare)
  local received = memory.createBufArray(1)
  while libmoon.running() do
    for _, nic in ipairs(nics) do responder.receive(nic, received, handle) end
  end
end

--- Hand an ICMP packet to the task, which frees it; `nic` is its number in the list
--- (1).
icmp.handlePacket = responder.handler("icmp", pipes)

return {task = task, icmp = icmp}
