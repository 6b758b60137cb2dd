-- SPDX-License-Identifier: Apache-2.0
-- How to measure each kind of port on any machine: two ends of it, between which
-- packets go round, in a network namespace of their own where they need interfaces.

local port_kinds = require("lib.port.kinds")
local shm = require("core.shm")
local tables = require("core.lib.tables")

local kinds = {}

local IN_CARDS = 256 -- packets: no card's ring is shorter than that

local namespaces = {}

namespaces.veth = "ip link add pgm0 mtu 1500 type veth peer name pgm1 && "
  .. "ip link set pgm0 up && ip link set pgm1 up"
-- What goes into one TAP comes out of the other, by a bridge.
namespaces.bridge = "ip link add pgm2 type bridge mcast_snooping 0 && "
  .. "ip tuntap add pgm0 mode tap multi_queue && "
  .. "ip tuntap add pgm1 mode tap multi_queue && "
  .. "ip link set pgm0 master pgm2 && ip link set pgm1 master pgm2 && "
  .. "ip link set pgm0 up && ip link set pgm1 up && ip link set pgm2 up"
local NO_IPV6 = "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 "
  .. "net.ipv6.conf.default.disable_ipv6=1 2>/dev/null"

-- Of an entry's `bench` (src/lib/port/README.md), under the name of its kind or of its
-- own.
local function add(name, how)
  local bench = {name = name}
  for key, value in pairs(how) do bench[key] = value end
  bench.namespace = namespaces[bench.namespace]
  table.insert(kinds.list, bench)
end

--- In the order they are measured. `receive` and `send` are port strings (the same:
--- one port), %s a folder for sockets and files; `namespace`: the commands that make
--- interfaces in a namespace; `round`: packets that go round (nil: they come of
--- themselves); `most`: bursts up to; `testpmd`: how testpmd is told to use such ports.
kinds.list = {}
for _, kind in ipairs(port_kinds.list) do
  if kind.bench then add(kind.name, kind.bench) end
  if kind.bench_also then add(kind.bench_also.name, kind.bench_also) end
end
table.sort(kinds.list, function (a, b) return a.order < b.order end)

local by_name = {}
for _, kind in ipairs(kinds.list) do by_name[kind.name] = kind end

--- The kind `name`; a PCI address is a kind of its own, whose packets must come from
--- outside. "ONE=OTHER" are two with a cable between them. Nil if there is none.
function kinds.find(name)
  if by_name[name] then return by_name[name] end
  local one, other = name:match("^(%x+:%x%x[^=]*)=(%x+:%x%x[^=]*)$")
  if one then
    return {name = name, receive = one, send = other, round = IN_CARDS}
  end
  if name:match("^%x+:%x%x[^=]*$") then return {name = name, receive = name} end
end

--- All names.
function kinds.names()
  return tables.field(kinds.list, "name")
end

--- The shell command that runs `command` (a shell command) where the kind's interfaces
--- are: in a network and mount namespace of its own, which ends with it. An ordinary
--- user is root in a user namespace there, with the shared memory that is his here.
function kinds.command(kind, command, is_root)
  if not kind.namespace then return command end
  if not is_root then
    command = ("env SNABB_SHM_ROOT=\"%s\" %s"):format(shm.root, command)
  end
  local script = ("mount -t sysfs sysfs /sys && { %s; %s; } && exec %s"):format(
    NO_IPV6, kind.namespace, command)
  return ("unshare %s --net --mount sh -c '%s'"):format(
    is_root and "" or "--map-root-user", script:gsub("'", "'\\''"))
end

return kinds
