-- SPDX-License-Identifier: Apache-2.0
-- Plugging DPDK devices in and out for the Port app. Knows what each kind of
-- port needs beyond its device string: rings, small frames, frame lengths.

local ffi = require("ffi")
local C = require("core.native")
local failure = require("core.failure")
local iface = require("apps.port.iface")
local pci = require("lib.hardware.pci")
local pool = require("core.pool")
local spec = require("lib.port.spec")
local claims = require("lib.port.claims")

local plug = {}

local ETHERNET_HEADER = 14
local JUMBO_MTU = 9600
-- What a driver can send, whatever the interface's MTU: an AF_XDP frame of one page
-- holds 3,264 bytes; net_tap would try longer ones than these for ever.
local MOST_MTU = {xdp = 3264 - ETHERNET_HEADER, tap = 1500}

local open = {} -- parsed port -> struct port
local befores = {} -- parsed ports -> their kernel interfaces as they were

--- The parsed ports that are open now, an array.
function plug.open_ports()
  local list = {}
  for description in pairs(open) do list[#list + 1] = description end
  return list
end

-- The kernel interface that carries the port, if any.
local function iface_of(description)
  return description.iface or (description.kind == "tap" and description.name) or nil
end

local function explain(status, description)
  if status < 0 then
    failure.raise("port '%s': %s", description.text, ffi.string(C.pg_error()))
  end
end

local function plug_ring(port, description)
  local side = C.pg_ring_take(description.name)
  if side < 0 then
    failure.usage("port '%s': %s", description.text, ffi.string(C.pg_error()))
  end
  if C.pg_port_ring(port, description.name, side) < 0 then
    C.pg_ring_leave(description.name, side)
    explain(-1, description)
  end
  description.side = side
end

local function adopt(port, description)
  if C.pg_port_adopt(port, description.number) < 0 then return false end
  for other, opened in pairs(open) do
    if opened.id == port.id then
      failure.usage("port '%s': that number is taken by '%s', which another app has "
        .. "open", description.text, other.text)
    end
  end
  if not spec.pci_address(ffi.string(port.name)) then
    port.lent, port.tidy = 1, 1 -- a virtual device that --eal made
  end
  return true
end

-- PCI devices get port numbers in the order of their addresses.
local function plug_number(port, description)
  if adopt(port, description) then return end
  for _, device in ipairs(pci.dpdk_devices()) do C.pg_probe_pci(device) end
  if not adopt(port, description) then
    failure.usage("port '%s': DPDK has %s; bind a network card to vfio-pci, or "
      .. "name another kind of port (`perigee ports` lists what there is)",
      description.text, C.pg_port_count() == 0 and "no ports"
      or ("only ports 0 to %d"):format(C.pg_port_count() - 1))
  end
end

--- Send no frame longer than the interface's MTU (bytes), or the driver, allows.
function plug.carry_mtu(port, description, mtu)
  local most = MOST_MTU[description.kind] or mtu
  local longest = math.min(mtu, most) + ETHERNET_HEADER -- more than 16 bits on lo
  port.max_frame = math.min(longest, tonumber(C.PACKET_MAX_PAYLOAD))
end

-- What DPDK would otherwise change on a TAP interface that is there already.
local function keep_tap(description, devargs, before)
  if description.kind ~= "tap" or not before then return devargs end
  return ("%s,mac=%s"):format(devargs, iface.address(before))
end

-- Of a device with several queues this app has one: the last to go unplugs it.
local function others_use(description)
  return description.queues and not C.pg_port_leave(description.device)
end

-- Take the device away, and leave its kernel interface as it was.
local function unplug(description, port)
  if others_use(description) then return end
  C.pg_port_unplug(port)
  local before = befores[description]
  if before then
    iface.put_back(iface_of(description), before, description.kind == "tap")
    befores[description] = nil
  end
  if description.kind == "ring" then
    C.pg_ring_leave(description.name, description.side)
  end
end

-- Does this process have another queue of that interface already?
local function shares_interface(description)
  for other in pairs(open) do
    if other.kind == "xdp" and other.iface == description.iface then return true end
  end
end

-- DPDK would fail, and in doing so take the other program away.
local function refuse_second_xdp(description)
  local name = description.iface
  if C.pg_iface_has_xdp(name) and not shares_interface(description) then
    failure.usage("port '%s': the interface has an XDP program already; end the "
      .. "process that uses it, or take the program off with: ip link set %s xdp off",
      description.text, name)
  end
end

-- What can't be used after all is unplugged.
local function give_up(port, description, problem)
  unplug(description, port)
  failure.raise("port '%s': %s", description.text, problem)
end

-- Keep the interface's MTU, and frames to what it carries.
local function fit_interface(port, description, name, before)
  if before then iface.set_mtu(name, before.mtu) end
  local now, reason = iface.read(name)
  if not now then
    give_up(port, description, ("the interface went away meanwhile: %s"):format(reason))
  end
  port.min_frame = ETHERNET_HEADER
  plug.carry_mtu(port, description, now.mtu)
end

-- Kinds that bring nothing but packets of our pool, in one segment each. (So does a
-- file that is sent over and over: net_pcap refuses longer packets then.)
local BRINGS_OWN = {null = true, pci = true}

local function plug_device(port, description)
  local name = iface_of(description)
  local before, reason = nil, nil
  if name then before, reason = iface.read(name) end
  if description.iface and not before then
    failure.raise("port '%s': can't read the interface's MTU: %s",
      description.text, reason)
  end
  if description.kind == "xdp" then refuse_second_xdp(description) end
  local devargs = spec.devargs(description, C.pg_port_next_id())
  explain(C.pg_port_plug(port, keep_tap(description, devargs, before)), description)
  befores[description] = before
  if name then fit_interface(port, description, name, before) end
  if description.kind == "xdp" then
    if C.pg_port_small_pool(port) < 0 then
      give_up(port, description, ffi.string(C.pg_error()))
    end
  elseif not BRINGS_OWN[description.kind] and description.loop ~= 1 then
    port.tidy = 1
  end
end

local function note_open(description, port)
  port.account, port.burst = pool.freelist, C.PORT_BURST
  port.queue = description.queue or 0
  open[description] = port
  claims.claim(description)
  return port
end

--- Open the port and start it; a `struct port`.
function plug.open(description)
  pool.create()
  local port = ffi.new("struct port")
  if description.queues and C.pg_port_join(port, description.device) then
    pool.near(port.numa_node)
    return note_open(description, port)
  end
  if description.kind == "ring" then
    plug_ring(port, description)
  elseif description.kind == "number" then
    plug_number(port, description)
  else
    plug_device(port, description)
  end
  local near = pool.near(port.numa_node)
  if port.pool == nil then port.pool = near end
  port.queues = description.queues or 0
  local card = description.kind == "pci" or description.kind == "number"
  local mtu = card and JUMBO_MTU or 0
  if C.pg_port_start(port, mtu, 1, description.offload or 0) < 0 then
    local reason = ffi.string(C.pg_error())
    if description.role == "client" then -- of a memif
      reason = ("nobody answers at '%s'; start the process that serves it first (%s)")
        :format(description.socket, reason)
    end
    unplug(description, port)
    failure.raise("port '%s': %s", description.text, reason)
  end
  if description.queues then
    explain(C.pg_port_share(port, description.device), description)
  end
  return note_open(description, port)
end

--- Unplug it.
function plug.close(description, port)
  unplug(description, port)
  open[description] = nil
  claims.release(description)
end

return plug
