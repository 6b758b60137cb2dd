-- SPDX-License-Identifier: Apache-2.0
-- ARP (RFC 826) for scripts, as libmoon's proto.arp: a task answers requests for a
-- device's addresses, and asks for those that other tasks look up. They share a table
-- in a namespace; which of its entries are to be asked for is the task's own to know.

local address = require("lib.stack.address")
local cache = require("net.neighbor.cache")
local codec = require("net.neighbor.arp")
local ffi = require("ffi")
local libmoon = require("libmoon")
local memory = require("memory")
local namespaces = require("namespaces")
local proto = require("moongen.packets.proto")
local responder = require("moongen.packets.responder")
local time = require("moongen.packets.utils_of_time").time
local wire = require("net.wire.bytes")

local arp = proto.arp
local eth = proto.eth

local STARTUP = 10 -- seconds until it has started, on a busy machine
local SIZE = 60       -- bytes of an ARP packet, without CRC

arp.arpTask = "__MG_ARP_TASK"

local entries = namespaces:get("moongen.arp.entries")
local state = namespaces:get("moongen.arp.state")
local pipes = namespaces:get("moongen.arp.pipes")

-- Seconds: until an entry is asked for again, and between two requests of 30 at most.
local TIMES = {reachable = 30, between = 1, tries = 30,
  gone = function (e) entries[e.ip] = nil end}

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

local ALL = ("\255"):rep(6)
local sender_ip, target_ip = ffi.new("uint8_t[4]"), ffi.new("uint8_t[4]")

-- Ask who has `target` (a number) for `sender`; the same address announces it.
local function request(nic, bufs, target, sender)
  bufs:alloc(SIZE)
  wire.write32(sender_ip, sender)
  wire.write32(target_ip, target)
  codec.write(bufs[1]:getBytes(), codec.REQUEST, nic.mac, sender_ip, ALL, ALL,
    target_ip)
  nic.txQueue:send(bufs)
end

local function learn(list, pkt)
  local ip, mac, now = tostring(pkt.arp:getProtoSrc()), pkt.arp:getHardwareSrcString(),
    time()
  list:insert(ip, mac, now)
  entries[ip] = {mac = mac, updateTime = now}
end

-- A request becomes its own answer.
local function handle(nic, received, list)
  local buf = received[1]
  local data, pkt = buf:getBytes(), buf:getArpPacket()
  local operation = codec.operation(data, buf:getSize())
  if operation == codec.REQUEST and nic.own[pkt.arp:getProtoDst()] then
    codec.answer(data, nic.mac)
    return nic.txQueue:send(received)
  elseif operation == codec.REPLY then
    learn(list, pkt)
  end
  received:freeAll()
end

local function prepare(nic)
  nic.own, nic.mac = {}, nic.txQueue.dev:getMac()
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

-- Ask for what other tasks look for, and forget who doesn't answer.
local function look_after(nics, list, bufs)
  local now = time()
  entries:forEach(function (ip, entry)
    if type(entry) == "table" then list:ensure(ip, now) end
  end)
  local function ask(ip)
    for _, nic in ipairs(nics) do
      if nic.first then request(nic, bufs, tonumber(ip), nic.first) end
    end
  end
  for e in list:each() do
    if list:tend(e, now, ask) then list:remove(e) end
  end
end

local function task(nics)
  local every = nics.gratArpInterval or math.huge
  nics = responder.devices(nics, pipes, prepare)
  local received, list = memory.createBufArray(1), cache.new(TIMES)
  local bufs = memory.createMemPool(function (buf)
    buf:getArpPacket():fill{arpOperation = arp.OP_REPLY, pktLength = SIZE}
  end):bufArray(1)
  local function answer_one(nic, one) handle(nic, one, list) end
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
    look_after(nics, list, bufs)
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
  if type(entry) == "table" and entry.mac then
    return entry.mac, entry.updateTime
  end
  entries[key] = {} -- to be asked for
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
