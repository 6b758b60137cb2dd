-- SPDX-License-Identifier: Apache-2.0
-- ARP (RFC 826) for scripts, as libmoon's proto.arp: a task answers requests for a
-- device's addresses, and asks for those that other tasks look up. They share a table
-- in a namespace: an entry is pending, requested, current or refreshing.

local address = require("lib.stack.address")
local codec = require("net.neighbor.arp")
local libmoon = require("libmoon")
local memory = require("memory")
local namespaces = require("namespaces")
local proto = require("moongen.packets.proto")
local responder = require("moongen.packets.responder")
local time = require("moongen.packets.utils_of_time").time

local arp = proto.arp
local eth = proto.eth

local AGING = 30      -- seconds after which a current entry is asked for again,
local RETRY = 1       -- between two requests,
local STARTUP = 10 -- seconds until it has started, on a busy machine
local SIZE = 60       -- bytes of an ARP packet, without CRC

arp.arpTask = "__MG_ARP_TASK"

local entries = namespaces:get("moongen.arp.entries")
local state = namespaces:get("moongen.arp.state")
local pipes = namespaces:get("moongen.arp.pipes")

--- Start the task on a shared core, for a list of {rxQueue =, txQueue =, ips = address
--- or list}, or one. Without rxQueue, packets come by handlePacket. With
--- `gratArpInterval` the addresses are announced every so many seconds.
function arp.startArpTask(queues)
  state.stop = nil
  libmoon.startSharedTask(arp.arpTask, queues)
end

--- Have the task end.
function arp.stopArpTask() state.stop = true end

-- ---- the task ----

local function send(nic, bufs, fill)
  bufs:alloc(SIZE)
  local pkt = bufs[1]:getArpPacket()
  fill(pkt)
  nic.txQueue:send(bufs)
end

-- Ask who has `target` (a number) for `sender`; the same address announces it.
local function request(nic, bufs, target, sender)
  send(nic, bufs, function (pkt)
    pkt.eth:setDstString(eth.BROADCAST)
    pkt.eth:setSrcString(nic.mac)
    pkt.arp:setOperation(arp.OP_REQUEST)
    pkt.arp:setHardwareSrcString(nic.mac)
    pkt.arp:setHardwareDstString(eth.BROADCAST)
    pkt.arp:setProtoSrc(sender)
    pkt.arp:setProtoDst(target)
  end)
end

local function answer(nic, bufs, asked)
  local ip = asked.arp:getProtoDst()
  if not nic.own[ip] then return end
  send(nic, bufs, function (pkt)
    pkt.eth:setSrcString(nic.mac)
    pkt.eth:setDst(asked.eth:getSrc())
    pkt.arp:setOperation(arp.OP_REPLY)
    pkt.arp:setHardwareSrcString(nic.mac)
    pkt.arp:setHardwareDst(asked.arp:getHardwareSrc())
    pkt.arp:setProtoSrc(ip)
    pkt.arp:setProtoDst(asked.arp:getProtoSrc())
  end)
end

local function learn(pkt)
  local now = time()
  entries[tostring(pkt.arp:getProtoSrc())] = {state = "current", timestamp = now,
    updateTime = now, mac = pkt.arp:getHardwareSrcString()}
end

local function handle(nic, received, bufs)
  local buf = received[1]
  local pkt = buf:getArpPacket()
  local operation = codec.operation(buf:getBytes(), buf:getSize())
  if operation == codec.REQUEST then answer(nic, bufs, pkt)
  elseif operation == codec.REPLY then learn(pkt) end
  received:freeAll()
end

local function prepare(nic)
  nic.own, nic.mac = {}, nic.txQueue.dev:getMacString()
  for k, text in ipairs(nic.ips) do
    local ip = type(text) == "number" and text or address.parseIP4Address(text)
    if not ip then
      error(("arp: '%s' is not an IPv4 address, such as 192.0.2.1")
        :format(tostring(text)), 0)
    end
    nic.own[ip] = true
    if k == 1 then nic.first = ip end
  end
  if nic.rxQueue then nic.rxQueue.dev:l2Filter(eth.TYPE_ARP, nic.rxQueue) end
end

-- What is to be done about an entry now: nil, "ask" or "forget".
local function due(entry, now)
  local age = now - entry.timestamp
  if entry.state == "pending" then return "ask" end
  if entry.state == "current" then return age >= AGING and "ask" or nil end
  if age < RETRY then return nil end
  return now - entry.lookupTime > AGING and "forget" or "ask"
end

local function look_after(nics, bufs)
  local now, changed = time(), {}
  entries:forEach(function (ip, entry)
    local what = type(entry) == "table" and due(entry, now)
    if what then changed[ip] = {what, entry} end
  end)
  for ip, change in pairs(changed) do
    local what, entry = unpack(change)
    if what == "forget" then
      entries[ip] = nil
    else
      if entry.state == "current" then
        entry.state, entry.lookupTime = "refreshing", now
      elseif entry.state == "pending" then
        entry.state, entry.lookupTime = "requested", now
      end
      entry.timestamp = now
      entries[ip] = entry
      for _, nic in ipairs(nics) do
        if nic.first then request(nic, bufs, tonumber(ip), nic.first) end
      end
    end
  end
end

local function task(nics)
  local every = nics.gratArpInterval or math.huge
  nics = responder.devices(nics, pipes, prepare)
  local received = memory.createBufArray(1)
  local bufs = memory.createMemPool(function (buf)
    buf:getArpPacket():fill{arpOperation = arp.OP_REPLY, pktLength = SIZE}
  end):bufArray(1)
  local function answer_one(nic, one) handle(nic, one, bufs) end
  state.running = true
  local announce = 0 -- when to announce the addresses
  while libmoon.running() and not state.stop do
    if time() >= announce then
      announce = time() + every
      for _, nic in ipairs(nics) do
        if nic.first then request(nic, bufs, nic.first, nic.first) end
      end
    end
    for _, nic in ipairs(nics) do responder.receive(nic, received, answer_one) end
    look_after(nics, bufs)
    libmoon.sleepMillisIdle(1)
  end
  state.running = nil
end

-- ---- what other tasks call ----

--- Hand an ARP packet to the task, which frees it; `nic` is its number in the list (1).
arp.handlePacket = responder.handler("arp", pipes)

local function number_of(ip)
  if type(ip) == "string" then
    local number = address.parseIP4Address(ip)
    if not number then
      error(("arp: '%s' is not an IPv4 address, such as 192.0.2.1"):format(ip), 3)
    end
    return number
  end
  return type(ip) == "cdata" and ip:get() or ip
end

local function await_task()
  local ends = time() + STARTUP
  while not state.running and time() < ends and libmoon.running() do
    libmoon.sleepMillisIdle(10)
  end
  if not state.running and libmoon.running() then
    error("ARP task is not running", 3)
  end
end

--- The Ethernet address (text) of the IPv4 address, and when it was heard of (seconds
--- since 1970); nil if it isn't known yet: then the task asks for it.
function arp.lookup(ip)
  local key = ("%.0f"):format(number_of(ip))
  if not state.running then await_task() end
  local entry = entries[key]
  if type(entry) == "table" then
    return entry.mac, entry.updateTime
  end
  entries[key] = {state = "pending", timestamp = time()}
  return nil
end

--- The same; waits for it, for `timeout` seconds at most.
function arp.blockingLookup(ip, timeout)
  local ends = time() + timeout
  repeat
    local mac, since = arp.lookup(ip)
    if mac then return mac, since end
    libmoon.sleepMillisIdle(10)
  until time() >= ends or not libmoon.running()
end

--- Wait until the task runs.
function arp.waitForStartup()
  while not state.running and libmoon.running() do libmoon.sleepMillisIdle(1) end
end

return {task = task, arp = arp}
