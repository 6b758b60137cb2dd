-- SPDX-License-Identifier: Apache-2.0
-- libmoon's module `device`: devices as objects, one of each number in a Lua state.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local arguments = require("moongen.arguments")
local config = require("moongen.devices.config")
local failure = require("core.failure")
local links = require("moongen.devices.links")
local native = require("moongen.devices.native")
local queues = require("moongen.devices.queues")
local serialize = require("moongen.tasks.serialize")
local start = require("moongen.devices.start")
local statistics = require("moongen.devices.statistics")

local device = {}

local Device = {__type = "device"}
Device.__index = Device

local objects = {} -- by number

--- Packets of a filter are dropped.
device.DROP = -1
Device.DROP = -1

function Device:__tostring() return ("[Device: id=%d]"):format(self.id) end
function Device:__eq(other) return self.id == other.id end

serialize.class("moongen.devices.device", "device", Device,
  function (self) return self.id end, function (id) return device.get(id) end)

-- Which there are -------------------------------------------------------------------

--- How many devices there are; they are numbered from 0 on.
device.numDevices = native.count

--- A list of {id, mac, name}.
function device.getDevices()
  start.now()
  return start.list()
end

--- The device of that number. A usage failure if there is none.
function device.get(...)
  local id = arguments.of_either(device, ...)
  if type(id) == "table" and id.id then id = id.id end
  if type(id) ~= "number" then
    error(("device.get takes the number of a device, not %s"):format(
      arguments.shown(id)), 2)
  end
  if not objects[id] then
    local c = config.device(id)
    start.now()
    objects[id] = objects[id] or setmetatable({id = id, c = c, rxQueues = {},
      txQueues = {}, driverInfo = {}}, Device)
  end
  local dev = objects[id]
  dev.initialized = dev.c.configured ~= 0
  return dev
end

--- Start a device: a table with `port` and, each optional, rxQueues, txQueues (1),
--- rxDescs, txDescs, rssQueues, rssBaseQueue; or the port, rxQueues, txQueues, rxDescs
--- and txDescs in this order. A device that is started already stays as it is.
function device.config(...)
  local args = config.arguments(arguments.of_either(device, ...))
  local id = tonumber(args.port) or args.port
  if config.device(id).configured ~= 0 then
    require("moongen.log"):warn("Device %d already configured, skipping initilization",
      id)
    return device.get(id)
  end
  local want = config.checked(args)
  local dev = device.get(id)
  config.start(id, want)
  dev.initialized = true
  return dev
end

--- Wait until the devices' links are up (none given: all that are configured): how many
--- are.
function device.waitForLinks(...)
  local list = {arguments.of_either(device, ...)}
  if #list == 0 then
    for id = 0, device.numDevices() - 1 do
      local c = native.get(id)
      if c ~= nil and c.configured ~= 0 then list[#list + 1] = device.get(id) end
    end
  end
  for _, dev in ipairs(list) do
    if type(dev) ~= "table" or not dev.c then
      failure.usage("waitForLinks takes devices, not %s", arguments.shown(dev))
    end
  end
  return links.wait_for_all(list)
end

-- Names of 2014 and 2015.
device.waitForDevs, device.waitFor = device.waitForLinks, device.waitForLinks

-- Nothing of these is to be done here.
function device.reclaimTxBuffers() end
function device.cleanupDevices() end

-- Queues ------------------------------------------------------------------------------

local function queue(self, list, make, kind, n, id)
  id = tonumber(id) or 0
  local known = list[id]
  if known then return known end
  if self.c.configured == 0 then
    failure.usage("device %d isn't configured: call device.config{port = %d} first",
      self.id, self.id)
  end
  if id % 1 ~= 0 or id < 0 or id >= n then
    failure.usage("device %d is configured with %s queues 0 to %d, tried to get "
      .. "queue %s", self.id, kind, n - 1, tostring(id))
  end
  list[id] = make(self, id)
  return list[id]
end

--- Queue number `id` (from 0 on) to send to.
function Device:getTxQueue(id)
  return queue(self, self.txQueues, queues.tx, "tx", self.c.ntx, id)
end

--- Queue number `id` (from 0 on) to receive from.
function Device:getRxQueue(id)
  return queue(self, self.rxQueues, queues.rx, "rx", self.c.nrx, id)
end

-- Links -------------------------------------------------------------------------------

Device.getLinkStatus, Device.wait = links.status, links.wait

-- Statistics --------------------------------------------------------------------------

Device.getStats, Device.getRxStats = statistics.all, statistics.received
Device.getTxStats = statistics.sent
function Device:clearRxStats() end
function Device:resetTimeCounters() self:unsupported("Time counter tracking") end

-- What it is --------------------------------------------------------------------------

--- Its Ethernet address as "02:50:47:00:00:00", in capitals.
function Device:getMacString() return start.mac(self.c) end

--- Its Ethernet address as an object, or as a number.
function Device:getMac(number) return parseMacAddress(self:getMacString(), number) end

--- The driver behind it.
function Device:getDriverName() return ffi.string(C.pg_port_driver(self.c.ports[0])) end

--- What the user knows it by: its port string.
function Device:getName() return ffi.string(self.c.text) end

--- Its NUMA node.
function Device:getSocket() return math.max(self.c.ports[0].numa_node, 0) end
function Device:checkSocket() return true end
function Device:getPciId() return 0 end
function Device:getFirmware() return nil end
function Device:store() end

--- What libmoon tells of its capabilities, as far as scripts look at it.
function Device:getInfo()
  local most = C.MG_MOST_QUEUES
  return {driver_name = C.pg_port_driver(self.c.ports[0]), max_rx_queues = most,
    max_tx_queues = most, nb_rx_queues = self.c.nrx, nb_tx_queues = self.c.ntx,
    reta_size = 128, max_rx_pktlen = tonumber(C.PACKET_MAX_PAYLOAD),
    rx_desc_lim = {nb_min = 1, nb_max = 65535, nb_align = 1},
    tx_desc_lim = {nb_min = 1, nb_max = 65535, nb_align = 1}}
end

-- Changing it -------------------------------------------------------------------------

function Device:setPromisc(on)
  C.pg_port_set_promiscuous(self.c.ports[0], on and true or false)
end

local function check(self, status)
  if status < 0 then
    failure.raise("device %d (%s): %s", self.id, self:getName(),
      ffi.string(C.pg_error()))
  end
end

--- Frames of up to `mtu` bytes behind the Ethernet header.
function Device:setMtu(mtu) check(self, C.pg_port_set_mtu(self.c.ports[0], mtu)) end

local function change_mac(self, mac, change)
  local address = parseMacAddress(mac)
  if not address then failure.usage("'%s' isn't a MAC address", tostring(mac)) end
  check(self, change(self.c.ports[0], ffi.cast("uint8_t *", address)))
end

function Device:addMac(mac) change_mac(self, mac, C.pg_port_add_mac) end
function Device:removeMac(mac) change_mac(self, mac, C.pg_port_remove_mac) end

--- Give packets to the queues `base` (default 0) to base + n - 1, by their hash.
function Device:setRssQueues(n, base)
  self.c.soft.rss_base = base or 0
  self.c.soft.rss_queues = n
  native.use_sources(self.c)
end

-- Names of 2015 and 2016.
Device.setRssNQueues, Device.getRxStatsAll = Device.setRssQueues, Device.getStats

function Device:stop() end

--- Say, once, that the device can't do that.
function Device:unsupported(operation, level)
  self.said = self.said or {}
  if self.said[operation] then return end
  self.said[operation] = true
  local log = require("moongen.log")
  log[level or "warn"](log, "%s is not supported by the hardware or driver",
    tostring(operation))
end

arguments.methods(Device, "a device", "c", {
  getTxQueue = "number?", getRxQueue = "number?", getLinkStatus = "", wait = "number?",
  getStats = "", getRxStats = "", getTxStats = "", clearRxStats = "", getMac = "any?",
  getMacString = "", getDriverName = "", getName = "", getSocket = "", getInfo = "",
  setPromisc = "any?", setMtu = "number", addMac = "any?", removeMac = "any?",
  setRssQueues = "number, number?", setRssNQueues = "number, number?",
  getRxStatsAll = "", unsupported = "any?, any?",
})

-- For modules that add methods.
device.__devicePrototype = Device
device.__txQueuePrototype = queues.TxQueue
device.__rxQueuePrototype = queues.RxQueue

queues.set_up(device)

return device
