-- SPDX-License-Identifier: Apache-2.0
-- FromDPDKRing and ToDPDKRing: a way for packets from one process to another, or within
-- one. The two ends have the same MEM_POOL and the same two names, FROM_PROC and
-- TO_PROC, in either order. Between processes it is a memif, made by whoever comes
-- first.

local common = require("click.devices.elements")
local devices = require("click.devices.device")
local files = require("lib.port.files")
local stat = require("posix.sys.stat")
local sysfs = require("lib.hardware.sysfs")
local tables = require("core.lib.tables")

local LONGEST = 20 -- letters of a ring's name

-- The name both ends have for it, of letters and digits.
local function ring_name(a)
  local names = {a.FROM_PROC or "", a.TO_PROC or ""}
  table.sort(names)
  return (table.concat({a.MEM_POOL, names[1], names[2]}, "_"):gsub("[^%w_]", "_"))
end

-- A short name for a long one.
local function shortened(name)
  if #name <= LONGEST then return name end
  local sum = 0
  for i = 1, #name do sum = (sum * 31 + name:byte(i)) % 2 ^ 32 end
  return ("%s_%08x"):format(name:sub(1, LONGEST - 9), sum)
end

local function folder()
  return stat.stat("/run") and require("posix.unistd").access("/run", "w") == 0
    and "/run" or os.getenv("XDG_RUNTIME_DIR") or "/tmp"
end

-- The port that one end of the ring is. `other_here`: the other end is in this router.
local function port_of(name, other_here)
  if other_here then return "ring:" .. shortened(name) end
  local socket = ("%s/perigee-ring-%s"):format(folder(), shortened(name))
  local role = files.socket_taken(socket, sysfs.roots) and "client" or "server"
  return ("memif:%s,role=%s"):format(socket, role)
end

local ENDS = {from = "to", to = "from"}

-- One end of the ring that the arguments name, a device of its own.
local function ring_end(self, a, which)
  local name = ring_name(a)
  local router = self.router
  router.rings = router.rings or {}
  local ring = router.rings[name] or {}
  router.rings[name] = ring
  if not ring[which] then
    ring[which] = devices.own(router, ("ring_%s_%s"):format(which, name), function ()
      return port_of(name, ring[ENDS[which]] ~= nil)
    end)
  end
  self.device, self.device_name = ring[which], name
  return ring[which]
end

local NAMES = {
  {"MEM_POOL", "word", required = true},
  {"FROM_PROC", "word", keyword = true}, {"TO_PROC", "word", keyword = true},
  {"BURST", "unsigned", keyword = true},
}

local OTHERS = {"NDESC", "NUMA_ZONE", "IQUEUE", "BLOCKING", "TIMEOUT", "VERBOSE",
  "FORCE_CREATE", "FORCE_LOOKUP", "NB_MBUF"}

local function arguments()
  return common.ignored(tables.copy(NAMES), OTHERS)
end

local FromDPDKRing = common.define_receiver{
  name = "FromDPDKRing", summary = "receives packets from another router or process",
  arguments = arguments(),
}

function FromDPDKRing:configure(a)
  self.count, self.active = 0, true
  ring_end(self, a, "from"):add_receiver(self, {})
end

local ToDPDKRing = common.define_sender{
  name = "ToDPDKRing", summary = "sends packets to another router or process",
  arguments = arguments(),
}

function ToDPDKRing:configure(a)
  self.count, self.burst = 0, math.max(a.BURST or 32, 1)
  ring_end(self, a, "to"):add_sender(self)
end

return {FromDPDKRing, ToDPDKRing}
