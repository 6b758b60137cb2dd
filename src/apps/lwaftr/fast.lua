-- SPDX-License-Identifier: Apache-2.0
-- Inet and B4: the fast paths through an lwAFTR, in bursts of C (inet.c, b4.c), for
-- most packets. The rest leaves by `slow`, as it came, for LwAftr and the apps around
-- it, whose counters these two share in: together they are what LwAftr alone would
-- count.

local ffi = require("ffi")
local C = require("core.declare")("apps/lwaftr/lwaftr.h")
local counter = require("core.counter")
local engine = require("core.app")
local instance = require("apps.lwaftr.instance")

local function names(list)
  local shm = {}
  for _, name in ipairs(list) do shm[name] = {counter} end
  return shm
end

-- What both are made of.
local function class(outputs, counted)
  local c = {outputs = outputs, shm = names(counted)}
  c.__index = c
  return c
end

local Inet = class({"v6", "slow"}, {
  "in-ipv4-packets", "in-ipv4-bytes", "in-ipv4-frag-reassembly-unneeded",
  "out-ipv6-packets", "out-ipv6-bytes", "out-ipv6-frag-not"})

local B4 = class({"v4", "v6", "slow"}, {
  "in-ipv6-packets", "in-ipv6-bytes", "in-ipv6-frag-reassembly-unneeded",
  "hairpin-ipv4-packets", "hairpin-ipv4-bytes",
  "out-ipv4-packets", "out-ipv4-bytes", "out-ipv4-frag-not",
  "out-ipv6-packets", "out-ipv6-bytes", "out-ipv6-frag-not"})

-- Where the next hop's MAC address is from: an app's `next_mac` (ARP, NDP), once it has
-- one. The next hop may get another address while the app runs.
local function look(known, macs, resolver)
  local app = engine.app_table[resolver]
  local mac = app and app.next_mac
  if not mac then return known end
  ffi.copy(macs, mac, 6)
  return true
end

local function look_for_hops(self)
  local path = self.path
  path.known4 = look(path.known4, path.macs4, self.arp)
  path.known6 = look(path.known6, path.macs6, self.ndp)
end

-- `arg` has the configuration of one queue (`conf`), and the names of the ARP and NDP
-- apps that know the next hops (`arp`, `ndp`).
local function new(self, arg)
  local c = instance.merge(arg.conf)
  local external, internal = c.external_interface, c.internal_interface
  local o = setmetatable({arp = arg.arp, ndp = arg.ndp, external = external,
    internal = internal}, self)
  o.path = ffi.new("struct lwaftr_path", {
    flow_label = internal.flow_label, mtu = internal.mtu, mtu4 = external.mtu,
    hairpinning = internal.hairpinning,
  })
  ffi.copy(o.path.macs4 + 6, external.mac, 6)
  ffi.copy(o.path.macs6 + 6, internal.mac, 6)
  o.binding = instance.join(c.binding_table, o.path)
  return o
end

local function stop(self) self.binding:part(self.path) end

for _, each in ipairs{Inet, B4} do
  each.new, each.stop, each.tick = new, stop, look_for_hops
  each.tick_seconds = 0.2 -- (ARP and NDP let all tick when they have heard it)
end

-- Counting ------------------------------------------------------------------------

-- `untouched`: the counter of packets that need no reassembly, or no fragmentation; nil
-- where there is a filter (apps.lwaftr.filtered).
local function bind(counts, shm, name, untouched)
  counts.packets, counts.bytes = shm[name .. "-packets"], shm[name .. "-bytes"]
  counts.untouched = untouched and shm[name .. untouched] or nil
end

local REASSEMBLY, FRAGMENTATION = "-frag-reassembly-unneeded", "-frag-not"

-- Say where C is to count, once the engine has made the counters.
local function bind_all(self, family_in)
  local path, shm = self.path, self.shm
  local external, internal = self.external, self.internal
  local from = family_in == "in-ipv4" and external or internal
  bind(path.in_counts, shm, family_in, not from.ingress_filter and REASSEMBLY)
  bind(path.out6_counts, shm, "out-ipv6", not internal.egress_filter and FRAGMENTATION)
  if family_in == "in-ipv6" then
    bind(path.out4_counts, shm, "out-ipv4",
      not external.egress_filter and FRAGMENTATION)
    bind(path.hairpin_counts, shm, "hairpin-ipv4")
  end
  self.is_bound = true
end

function Inet:process_burst(packets, n, route)
  local path = self.path
  if not self.is_bound then bind_all(self, "in-ipv4") end
  if not path.known6 then look_for_hops(self) end
  C.pg_lwaftr_inet(path, packets, n, route)
end

function B4:process_burst(packets, n, route)
  local path = self.path
  if not self.is_bound then bind_all(self, "in-ipv6") end
  if not (path.known4 and path.known6) then look_for_hops(self) end
  C.pg_lwaftr_b4(path, packets, n, route)
end

-- Join: what comes, by whatever input, to one output.
local Join = {lengthens = 0}
Join.__index = Join

function Join:new() return setmetatable({}, self) end

function Join:process(p) return p end

return {Inet = Inet, B4 = B4, Join = Join}
