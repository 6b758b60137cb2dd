-- SPDX-License-Identifier: Apache-2.0
-- What configurations for Click's kernel module, and for netmap, have in the place of
-- FromDevice and KernelTap: PollDevice; FromHost, ToHost and ToHostSniffers, a TAP
-- interface of the host; FromNetmapDevice, ToNetmapDevice.

local common = require("click.devices.elements")
local element = require("click.element")
local kernel_tun = require("click.elements.devices.kernel_tun")

local KernelTap = kernel_tun[2]

-- Devices by other names ------------------------------------------------------------

local port_of = common.interface_port

local function receiver(name, summary, positions, ignored)
  local arguments = {{"DEVNAME", "string", required = true}}
  for _, spec in ipairs(positions) do arguments[#arguments + 1] = spec end
  arguments[#arguments + 1] = {"ACTIVE", "bool", default = true, keyword = true}
  local class = common.define_receiver{
    name = name, summary = summary, typed = true, division = "any",
    arguments = common.ignored(arguments, ignored),
  }
  function class:configure(a)
    self.timestamps = a.TIMESTAMP ~= false
    common.receive_from(self, a, port_of(a.DEVNAME))
  end
  return class
end

local PollDevice = receiver("PollDevice", "receives packets from a kernel interface",
  {{"PROMISC", "bool", default = false}, {"BURST", "unsigned", default = 32},
    {"TIMESTAMP", "bool", default = true, keyword = true}},
  {"QUIET", "ALLOW_NONEXISTENT", "UP_CALL", "DOWN_CALL", "HEADROOM"})

local FromNetmapDevice = receiver("FromNetmapDevice",
  "receives packets from a kernel interface",
  {{"PROMISC", "bool", keyword = true}, {"BURST", "unsigned", keyword = true}},
  {"SNAPLEN", "QUEUE", "N_QUEUES", "MAXTHREADS", "THREADOFFSET", "NUMA", "NDESC",
    "VERBOSE", "SCALE", "KEEPHAND"})

local ToNetmapDevice = common.define_sender{
  name = "ToNetmapDevice", summary = "sends packets to a kernel interface",
  division = "any",
  arguments = common.ignored({
    {"DEVNAME", "string", required = true}, {"BURST", "unsigned", keyword = true},
  }, {"IQUEUE", "BLOCKING", "QUEUE", "N_QUEUES", "MAXTHREADS", "TIMEOUT", "ALLOC",
    "VERBOSE", "NDESC", "FULLPUSH", "KEEPHAND"}),
}

function ToNetmapDevice:configure(a)
  common.send_to(self, a, port_of(a.DEVNAME))
end

-- The host --------------------------------------------------------------------------

local FromHost = element.define{
  name = "FromHost", extends = KernelTap, ports = "0/1-2", processing = "/h",
  summary = "takes frames that the kernel sends to a TAP interface",
  arguments = {
    {"DEVNAME", "string", required = true}, {"DST", "ip_prefix"},
    {"PREFIX", "ip_prefix", keyword = true}, -- as in Click's kernel module
    {"GATEWAY", "ip", default = 0, keyword = true}, {"ETHER", "eth", keyword = true},
    {"MTU", "unsigned", default = 1500, keyword = true},
    {"BURST", "int", default = 1, keyword = true},
    {"TYPE", "argument", keyword = true}, {"HEADROOM", "unsigned", keyword = true},
    {"CAPACITY", "unsigned", keyword = true}, {"CLEAR_ANNO", "bool", keyword = true},
  },
}

function FromHost:configure(a)
  a.ADDR, a.TAP = a.DST or a.PREFIX, true
  KernelTap.configure(self, a)
end

local ToHost = element.define{
  name = "ToHost", summary = "hands frames to the kernel, by FromHost's interface",
  ports = "1/0-1", processing = "h/h", drops = {"no FromHost", "the kernel refuses it"},
  differs = "Without a FromHost of the same interface, packets are dropped.",
  arguments = {
    {"DEVNAME", "string"}, {"TYPE", "argument", keyword = true},
    {"SNIFFERS", "bool", default = false, keyword = true},
    {"QUIET", "argument", keyword = true},
  },
  handlers = {drops = element.data("dropped")},
}

function ToHost:configure(a) self.device_name, self.dropped = a.DEVNAME, 0 end

function ToHost:initialize()
  for _, e in ipairs(self.router:elements_of("FromHost")) do
    if e.wanted_name == self.device_name then self.host = e end
  end
end

function ToHost:process(p)
  if not self.host then
    self.dropped = self.dropped + 1
    return nil, 1
  end
  local q, problem = KernelTap.process(self.host, p)
  if q == false then return false end
  self.dropped = self.dropped + 1
  return q, problem and 2
end

local ToHostSniffers = element.define{
  name = "ToHostSniffers", extends = ToHost,
  summary = "hands frames to the kernel, as ToHost does",
}

return {PollDevice, FromNetmapDevice, ToNetmapDevice, FromHost, ToHost, ToHostSniffers}
