-- SPDX-License-Identifier: Apache-2.0
-- Snabb's Tap: the Port app on a TAP interface, which it makes if there is none of that
-- name. The MTU in its argument counts the Ethernet header; the kernel's doesn't.

local Port = require("apps.port.port").Port
local C = require("core.native")
local alias = require("apps.port.port").alias
local failure = require("core.failure")
local device = require("lib.port.device")
local iface = require("lib.port.iface")
local interfaces = require("lib.hardware.interfaces")
local lib = require("core.lib")
local link = require("core.link")
local mib = require("apps.tap.mib")

local M = {}

local ETHERNET_HEADER_BYTES = 14

local argument = {
  name = {required = true},
  mtu = {default = 1514},
  mtu_fixup = {default = true},
  mtu_offset = {default = ETHERNET_HEADER_BYTES},
  mtu_set = {},
  overwrite_dst_mac = {default = false},
  forwarding = {default = false},
}

local function parse(conf)
  if type(conf) == "string" then conf = {name = conf} end
  return lib.parse(conf, argument)
end

local Tap = alias {
  name = "Tap",
  port = function(conf)
    return "tap:" .. parse(conf).name
  end,
}
M.Tap = Tap

local new = Tap.new

local SINKS = {"sink", "sink2", "sink3"} -- links to it, by the Port's names

local function set_mtu(app, name, mtu)
  local ok, reason = iface.set_mtu(name, mtu)
  if not ok then
    failure.raise("Tap '%s': the kernel doesn't take an MTU of %d: %s", name, mtu,
      reason)
  end
  device.carry_mtu(app.port, app.kind, mtu)
end

local NEW_MTU = 1500  -- of an interface that DPDK's driver makes

-- The interface's MTU must be what the argument says, unless the app is to set it.
local function check_mtu(name, mtu)
  local current = interfaces.exists(name) and interfaces.details(name).mtu or NEW_MTU
  if current ~= mtu then
    failure.usage("Tap '%s': its MTU is %s and the argument asks for %d; pass"
      .. " mtu_set = true, or: ip link set %s mtu %d", name, tostring(current), mtu,
      name, mtu)
  end
end

-- What a router's interface needs (Linux, Documentation/networking/ip-sysctl.rst):
-- packets that come in by it are passed on, whatever their source address says.
local FORWARDING = {rp_filter = "0", accept_local = "1", forwarding = "1"}

local function let_forward(name)
  for key, value in pairs(FORWARDING) do
    local path = ("/proc/sys/net/ipv4/conf/%s/%s"):format(name, key)
    local file, why = io.open(path, "w")
    local done = file and file:write(value)
    if file then done = file:close() and done end
    if not done then
      failure.raise("Tap '%s': `forwarding` needs to write %s to %s, which can't be "
        .. "done: %s", name, value, path, why or "the kernel doesn't take it")
    end
  end
end

-- What is done with the interface that is open now.
local function prepare(app, conf, mtu)
  -- DPDK's driver has just set an MTU of 1,500, also on an interface that was there.
  set_mtu(app, conf.name, mtu)
  if conf.forwarding then let_forward(conf.name) end
  app.counts = mib.new(conf.name, conf.mtu, app.shm)
end

--- Tap:new(conf), a name or a table of the keys above. The MTU is set on an interface
--- that this makes; one that was there must have it already. `mtu_set` = true or false
--- asks for one or the other.
function Tap:new(conf, checked)
  conf = parse(conf)
  local mtu = conf.mtu - (conf.mtu_fixup and conf.mtu_offset or 0)
  local set = conf.mtu_set
  if set == nil then set = not interfaces.exists(conf.name) end
  if not set then check_mtu(conf.name, mtu) end
  local o = new(self, conf, checked)
  -- Packets that are written to may not be others', too.
  if conf.overwrite_dst_mac then o.takes_shared = false end
  o.overwrite_dst_mac = conf.overwrite_dst_mac
  local ok, err = pcall(prepare, o, conf, mtu)
  if not ok then
    o:stop()
    error(err, 0)
  end
  return o
end

--- Receive a burst from the kernel.
function Tap:pull()
  local source = self.source
  if not source then return end
  local before = link.nreadable(source)
  Port.pull(self)
  self.counts:received(source, before)
end

--- Send what waits in the links to the kernel.
function Tap:push()
  if not self.sink then Port.link(self) end
  local counts = self.counts
  for _, name in ipairs(SINKS) do
    local l = self[name]
    if l and not link.empty(l) then
      if self.overwrite_dst_mac then counts:overwrite(l) end
      counts:sent(l, C.pg_transmit, self.port)
    end
  end
end

--- Publish the interface's state and the counters, now and then.
function Tap:tick()
  local next_check = self.next_check
  Port.tick(self)
  if self.next_check ~= next_check then self.counts:publish(self.shm) end
end

--- Unplug it.
function Tap:stop()
  if self.counts then self.counts:publish(self.shm) end
  Port.stop(self)
end

--- The class under the name by which programs choose among driver modules.
M.driver = Tap

return M
