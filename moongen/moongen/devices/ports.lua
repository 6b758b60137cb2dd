-- SPDX-License-Identifier: Apache-2.0
-- The ports behind the devices' numbers: those of `--port N=PORT`, else PCI devices in
-- the order of their addresses. Opened in the main thread, for all tasks.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local check = require("lib.port.check")
local config = require("core.config")
local device = require("lib.port.device")
local eal = require("core.eal")
local failure = require("core.failure")
local kinds = require("lib.port.kinds")
local losses = require("moongen.devices.losses")
local native = require("moongen.devices.native")
local opened = require("lib.port.opened")
local pci_device = require("lib.hardware.pci_device")
local pool = require("core.pool")
local replaced = require("lib.hardware.replaced")
local spec = require("lib.port.spec")
local tender = require("moongen.watch.tender")

local ports = {}

local LINGER_SECONDS = 0.1
local MEMORY_MB = 4096 -- without hugepages: each script makes pools of its own

-- Kinds that somebody is to look after (kind.tend): files, and interfaces that may go.
local TENDED = {pcap = true, packet = true}

local declared, open = {}, {} -- parsed ports, by device number

--- The port string of each device: a table from numbers to strings.
function ports.strings()
  local strings = replaced.numbers()
  if next(strings) == nil then
    for i, address in ipairs(pci_device.for_dpdk()) do strings[i - 1] = address end
  end
  return strings
end

local function is_zero(mac)
  for i = 0, 5 do
    if mac[i] ~= 0 then return false end
  end
  return true
end

-- A port without an address gets one of its own (locally administered, IEEE 802).
local function read_mac(d)
  if C.pg_port_mac(d.ports[0], d.mac) < 0 or is_zero(d.mac) then
    ffi.copy(d.mac, ffi.new("uint8_t[6]", {0x02, 0x50, 0x47, 0, 0, d.id}), 6)
  end
end

-- The other end of a ring is a device, too.
local function find_peer(id, port)
  for other, of in pairs(open) do
    if port.kind == "ring" and of.kind == "ring" and of.name == port.name
        and other ~= id then
      local one, two = native.get(id), native.get(other)
      one.peer, two.peer = two, one
    end
  end
end

-- Device number `id` is that port string.
local function declare(id, text)
  if id >= C.MG_MOST_DEVICES then
    failure.usage("--port %d=%s: devices are numbered from 0 to %d", id, text,
      C.MG_MOST_DEVICES - 1)
  end
  local port = spec.parse_text(text)
  check.ready(port, nil, {})
  native.new(id, text)
  declared[id] = port
end

--- Look which devices there are, and whether they can be; DPDK needn't run. A failure
--- names the port.
function ports.declare()
  eal.need_plain_memory(MEMORY_MB)
  local strings = ports.strings()
  for _, id in ipairs(config.sorted_keys(strings)) do declare(id, strings[id]) end
end

local function open_device(id, port)
  local d = native.get(id)
  check.unclaimed(port, {})
  pool.create()
  local kind, device_port = kinds.of(port), d.ports[0]
  local opens = kind.open or device.open
  opens(device_port, port, kind)
  device_port.account, device_port.burst = d.account, C.PORT_BURST
  local near = pool.near(device_port.numa_node)
  if device_port.pool == nil then device_port.pool = near end
  d.account.pool = near
  if TENDED[kind.name] then d.tended = kind.name end
  d.opened = 1
  read_mac(d)
  opened.note(port, device_port)
  open[id] = port
  find_peer(id, port)
end

--- Open all devices that were declared. A failure names the port.
function ports.open_all()
  for _, id in ipairs(config.sorted_keys(declared)) do open_device(id, declared[id]) end
  tender.start()
end

--- The parsed port and its kind.
function ports.of(id) return open[id], kinds.of(open[id]) end

--- Close all of them, and tell what was lost. Returns nothing, or what was lost by it.
--- `stuck`: are there tasks that may still use them?
function ports.close_all(stuck)
  tender.stop()
  for id in pairs(stuck and open or {}) do -- threads that don't end wait
    native.hold(native.get(id), true, true)
  end
  local problem
  local told = {}
  for id, port in pairs(open) do
    local d, kind = native.get(id), kinds.of(port)
    if kind.lingers and d.configured ~= 0 then C.pg_sleep(LINGER_SECONDS) end
    native.drain(d)
    if d.configured ~= 0 then told[id] = losses.of(d) end
    local lost = device.close(d.ports[0], port, kind)
    d.opened, d.configured = 0, 0
    if kind.closed then kind.closed(port) end
    opened.forget(port)
    if lost then problem = ("port '%s': %s"):format(port.text, lost) end
  end
  open = {}
  for _, id in ipairs(config.sorted_keys(told)) do losses.tell(told[id]) end
  return problem
end

return ports
