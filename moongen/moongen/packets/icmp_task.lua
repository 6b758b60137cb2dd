-- SPDX-License-Identifier: Apache-2.0
-- libmoon's proto.icmp: a task that answers pings (ICMP for IPv4, RFC 792).

local libmoon = require("libmoon")
local memory = require("memory")
local namespaces = require("namespaces")
local proto = require("moongen.packets.proto")
local responder = require("moongen.packets.responder")

local icmp = proto.icmp

local LEAST = 42 -- bytes of an echo request, with headers

local pipes = namespaces:get("moongen.icmp.pipes")

--- Start the task on a shared core, for a list of {rxQueue =, txQueue =, ips = address
--- or list}, or one. Without rxQueue, packets come by handlePacket.
function icmp.startIcmpTask(queues)
  libmoon.startSharedTask("__LM_ICMP_TASK", queues)
end

-- The bytes of the message, if the packet is an echo request for this device.
local function is_for(nic, buf, pkt)
  if buf:getSize() < LEAST or pkt.eth:getType() ~= proto.eth.TYPE_IP
    or pkt.ip4:getProtocol() ~= proto.ip4.PROTO_ICMP
    or pkt.ip4:getHeaderLength() ~= 5 or pkt.icmp:getType() ~= icmp.ECHO_REQUEST.type
    or not nic.own[pkt.ip4.dst:getString()] then
    return nil
  end
  local size = pkt.ip4:getLength() - 20
  return size >= 8 and size <= buf:getSize() - 34 and size or nil
end

local function handle(nic, received)
  local buf = received[1]
  local pkt = buf:getIcmpPacket()
  local size = is_for(nic, buf, pkt)
  if not size then return received:freeAll() end
  pkt.eth.dst:set(pkt.eth.src:get())
  pkt.eth.src:set(nic.txQueue.dev:getMac(true))
  local source = pkt.ip4.src:get()
  pkt.ip4.src:set(pkt.ip4.dst:get())
  pkt.ip4.dst:set(source)
  pkt.ip4:setTTL(64)
  pkt.icmp:setType(icmp.ECHO_REPLY.type)
  pkt.ip4:calculateChecksum()
  pkt.icmp:calculateChecksum(size)
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
