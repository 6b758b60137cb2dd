-- SPDX-License-Identifier: Apache-2.0
-- libmoon's proto.lacp: a task that keeps a link aggregation up (IEEE 802.1AX-2014,
-- clause 6.4), in short: it is active, sends a LACPDU a second on each port, and
-- believes the partner for 30 seconds.

local arguments = require("moongen.arguments")
local bit = require("bit")
local ffi = require("ffi")
local libmoon = require("libmoon")
local memory = require("memory")
local namespaces = require("namespaces")
local proto = require("moongen.packets.proto")
local utils = require("moongen.packets.utils_of_time")

local lacp = proto.lacp
local band, bnot, bor = bit.band, bit.bnot, bit.bor

local PERIOD, TIMEOUT = 1, 30 -- seconds: "fast periodic", and three "slow" ones
local PRIORITY = 0x7fff
local FIRST_PORT = 1000
local INFO = ffi.typeof("struct lacp_info")
local ALONE = bor(lacp.STATE_ACT, lacp.STATE_AGG, lacp.STATE_DEF, lacp.STATE_EXP)

lacp.lacpTask = "__MG_LACP_TASK"

local status = namespaces:get("moongen.lacp")

--- Start a task on a shared core for the channel `name`, which other functions know it
--- by: `queues` is a list of {rxQueue =, txQueue =}, one for each port.
function lacp.startLacpTask(name, queues)
  libmoon.startSharedTask(lacp.lacpTask, name, queues)
end

local function forget_partner(port)
  port.state, port.up = ALONE, false
  port.partner, port.actor = INFO(), INFO()
end

local function set(port, mask, on)
  port.state = on and bor(port.state, mask) or band(port.state, bnot(mask))
end

-- What the partner says of itself, and of us.
local function hear(port, pkt)
  port.until_ = utils.getMonotonicTime() + TIMEOUT
  set(port, lacp.STATE_EXP, false)
  ffi.copy(port.partner, pkt.lacp.actor, ffi.sizeof(INFO))
  if port.actor:equalsIgnoreState(pkt.lacp.partner) then
    set(port, bor(lacp.STATE_SYNC, lacp.STATE_COL), true)
    set(port, lacp.STATE_DEF, false)
  end
  local state = pkt.lacp.actor.state
  local collects = band(state, lacp.STATE_COL) ~= 0
  local distributes = band(state, lacp.STATE_DIST) ~= 0
  set(port, lacp.STATE_DIST, collects)
  if band(state, lacp.STATE_SYNC) == 0 then set(port, lacp.STATE_COL, false) end
  port.up = collects and distributes
end

local LEAST = 14 + 110 -- bytes of a LACPDU's frame

local function receive(port, bufs)
  local n = port.rxQueue:tryRecvIdle(bufs, 100)
  for i = 1, n do
    local buf = bufs[i]
    local pkt = buf:getLacpPacket()
    if buf:getSize() >= LEAST and pkt.lacp:validate() then hear(port, pkt)
    else require("log"):warn("Received unsupported LACPDU") end
  end
  bufs:free(n)
end

local function send(port, bufs, key)
  bufs:alloc(lacp.PKT_SIZE)
  local pkt = bufs[1]:getLacpPacket()
  pkt.eth.src:setString(port.txQueue.dev:getMacString())
  pkt.lacp.actor:setKey(key)
  pkt.lacp.actor:setPortId(port.txQueue.id + FIRST_PORT)
  pkt.lacp.actor:setState(port.state)
  ffi.copy(port.actor, pkt.lacp.actor, ffi.sizeof(INFO))
  ffi.copy(pkt.lacp.partner, port.partner, ffi.sizeof(INFO))
  port.txQueue:send(bufs)
end

-- A key of its own for each channel.
local function next_key()
  status.lock:lock()
  local key = (status.channelId or 0) + 1
  status.channelId = key
  status.lock:unlock()
  return key
end

local function count_up(ports)
  local n = 0
  for _, port in ipairs(ports) do n = n + (port.up and 1 or 0) end
  return n
end

-- As in 2016: a table of the channel's name and its ports, which have `rx` and `tx`.
local function of_2016(channel)
  local ports = {}
  for i, port in ipairs(channel.ports) do
    ports[i] = {rxQueue = port.rx, txQueue = port.tx}
  end
  return channel.name, ports
end

local function task(name, ports)
  if type(name) == "table" then name, ports = of_2016(name) end
  if name == "channelId" then error("a LACP channel can't be called channelId", 0) end
  local mac = ports[1].txQueue.dev:getMacString()
  local key = next_key()
  local sent = memory.createMemPool(function (buf)
    buf:getLacpPacket():fill{lacpActorSysId = mac, lacpActorSysPriority = PRIORITY,
      lacpActorPortPriority = PRIORITY}
  end):bufArray(1)
  local received = memory.bufArray(1)
  for _, port in ipairs(ports) do
    port.rxQueue.dev:l2Filter(proto.eth.TYPE_LACP, port.rxQueue)
    port.until_ = 0
    forget_partner(port)
  end
  local last, told = 0, nil
  while libmoon.running() do
    for _, port in ipairs(ports) do receive(port, received) end
    local now = utils.getMonotonicTime()
    if now > last + PERIOD then
      for _, port in ipairs(ports) do
        if now > port.until_ then forget_partner(port) end
        send(port, sent, key)
      end
      last = now
    end
    local up = count_up(ports)
    if up ~= told then
      status[name] = {up = up, numPorts = #ports, mac = mac}
      told = up
    end
    libmoon.sleepMillisIdle(1)
  end
end

local function await(name)
  for _ = 1, 100 do
    if status[name] or not libmoon.running() then break end
    libmoon.sleepMillisIdle(10)
  end
  if not status[name] then
    error(("LACP: there is no channel '%s'"):format(tostring(name)), 3)
  end
end

--- Wait until `ports` (all) ports of the channel `name` are up.
function lacp.waitForLink(...)
  local name, ports = arguments.of_either(lacp, ...)
  await(name)
  ports = ports or status[name].numPorts
  print(("Waiting for at least %d ports on LACP channel %s to come up...")
    :format(ports, name))
  local seen = 0
  while libmoon.running() do
    local up = status[name].up
    if up ~= seen then
      print(("%d port%s up"):format(up, up > 1 and "s" or ""))
      seen = up
    end
    if up >= ports then break end
    libmoon.sleepMillisIdle(100)
  end
end

--- The Ethernet address of the channel `name`.
function lacp.getMac(...)
  local name = arguments.of_either(lacp, ...)
  await(name)
  return status[name].mac
end

return {task = task, lacp = lacp}
