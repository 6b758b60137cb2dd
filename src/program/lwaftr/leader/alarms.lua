-- SPDX-License-Identifier: Apache-2.0
-- The alarms of a running lwAFTR: upstream's, by their names and limits. They follow
-- from what the apps count in shared memory, on whatever CPU these are.

local alarms = require("lib.alarms")
local engine = require("core.app")
local last_good = require("lib.saved.last_good")
local objects = require("lib.observe.objects")
local outside = require("core.outside.visitors")
local shm = require("core.shm")
local posix_time = require("posix.time")
local tables = require("core.lib.tables")

local M = {}

local MOST_LOOKS = 4 -- at a time, between two breaths: each reads a file or two
local UNRESOLVED_SECONDS = 1 -- between looks at the next hops

-- The next hops, by interface.
local HOPS = {
  {interface = "external_interface", id = "arp-resolution", app = "arp",
    counter = "next-hop-macaddr-v4", protocol = "ARP"},
  {interface = "internal_interface", id = "ndp-resolution", app = "ndp",
    counter = "next-hop-macaddr-v6", protocol = "NDP"},
}

-- Counters of a queue's apps that may grow by `limit` in `period` seconds.
local RATES = {
  {id = "bad-ipv4-softwires-matches", apps = {"lwaftr"}, limit = 1e5, period = 5,
    counter = "drop-no-dest-softwire-ipv4-packets", severity = "major",
    description = "IPv4 packets to no softwire's address and port",
    text = "More than 100,000 IPv4 packets in 5 seconds were to no softwire's address "
      .. "and port. Look through the binding table."},
  {id = "bad-ipv6-softwires-matches", apps = {"lwaftr"}, limit = 1e5, period = 5,
    counter = "drop-no-source-softwire-ipv6-packets", severity = "major",
    description = "IPv6 packets from no softwire's B4",
    text = "More than 100,000 IPv6 packets in 5 seconds were from no softwire's B4. "
      .. "Look through the binding table."},
}

for _, ip in ipairs{"IPv4", "IPv6"} do
  local version, family = ip:lower(), "v" .. ip:sub(-1)
  table.insert(RATES, {id = ("incoming-%s-fragments"):format(version),
    apps = {"reassembler" .. family}, limit = 1e4, period = 1, severity = "warning",
    counter = ("in-%s-frag-needs-reassembly"):format(version),
    description = ("Many incoming %s fragments"):format(ip),
    text = ("More than 10,000 %s fragments a second come in."):format(ip)})
  table.insert(RATES, {id = ("outgoing-%s-fragments"):format(version),
    apps = {"fragmenter" .. family}, limit = 1e4, period = 1, severity = "warning",
    counter = ("out-%s-frag"):format(version),
    description = ("Many outgoing %s fragments"):format(ip),
    text = ("More than 10,000 %s fragments a second go out. Is the MTU right?")
      :format(ip)})
  for _, direction in ipairs{"ingress", "egress"} do
    local name = ("%s_filter%s"):format(direction, family)
    table.insert(RATES, {id = "filtered-packets", apps = {name, "fast_" .. name},
      qualifier = ("%s-%s"):format(direction, family), counter = "rxerrors",
      limit = 1e6, period = 1, severity = "warning", is_filter = true,
      description = "Packets that a filter rejects",
      text = "A filter rejects more than 1,000,000 packets a second."})
  end
end

-- The same of ports.
local PORT_RATES = {
  {id = "ingress-bandwith", counter = "rxbytes", limit = 1e9, period = 1, -- sic
    severity = "major", description = "Many bytes come in",
    text = "More than 1,000,000,000 bytes a second come in: packets may be dropped."},
  {id = "ingress-packet-rate", counter = "rxpackets", limit = 2e6, period = 1,
    severity = "major", description = "Many packets come in",
    text = "More than 2,000,000 packets a second come in: some may be dropped."},
  {id = "ingress-packet-drop", counter = "rxdrop", limit = 1e5, period = 30,
    severity = "major", description = "Packets are dropped as they come in",
    text = "More than 100,000 packets in 30 seconds came faster than they were taken. "
      .. "More queues and CPUs help."},
}
-- While the counter isn't 0.
local AWAY = {id = "port-interface", counter = "interface_away", while_set = true,
  period = 1, severity = "critical", description = "A port's interface is gone",
  text = "The port's interface is gone. The lwAFTR waits until it is back."}
table.insert(PORT_RATES, AWAY)
-- Of a configuration that couldn't be started (--last-good).
local LAST_GOOD = {id = "last-good-configuration", severity = "major",
  description = "The newest configuration couldn't be started",
  text = "The newest configuration couldn't be started, and the last one that worked "
    .. "runs. `perigee ps` and the log say why; `perigee config load` takes another."}
local PORTS = {"^inetNic@", "^b4sideNic@", "^nic@"} -- program.lwaftr.ports

local function declared(resource, rule)
  return {resource = resource, alarm_type_id = rule.id,
    alarm_type_qualifier = rule.qualifier, description = rule.description,
    perceived_severity = rule.severity, alarm_text = rule.text}
end

-- What to look at: {alarm =, paths = of counters, period =, limit = (nil: the alarm is
-- raised while the counter is 0)}.
local function watch(alarm, apps, rule)
  local paths = {}
  for i, app in ipairs(apps) do
    paths[i] = ("apps/%s/%s.counter"):format(app, rule.counter)
  end
  return {alarm = alarm, paths = paths, limit = rule.limit, period = rule.period,
    while_set = rule.while_set}
end

local function add_hop(watches, resource, queue, hop)
  local interface = hop.interface:gsub("_", "-")
  local alarm = declared(resource, {id = hop.id, severity = "critical",
    description = ("The next hop's MAC address isn't found by %s"):format(hop.protocol),
    text = ("%s.next-hop.ip doesn't answer. Is the address right, and its neighbour "
      .. "up? %s.next-hop.mac can say the MAC address."):format(interface, interface)})
  local made = watch(alarm, {hop.app .. queue.suffix},
    {counter = hop.counter, period = UNRESOLVED_SECONDS})
  made.is_known = queue.settings[hop.interface].next_hop.mac ~= nil
  watches[#watches + 1] = made
end

--- What there is to look at for the `queues` (program.lwaftr.queues), and the ports
--- among the names of `apps`.
function M.watches(queues, apps)
  local watches = {}
  for _, queue in ipairs(queues) do
    local resource = ("%s/%d"):format(queue.device, queue.id)
    for _, hop in ipairs(HOPS) do add_hop(watches, resource, queue, hop) end
    for _, rule in ipairs(RATES) do
      local names, there = {}, false
      for i, app in ipairs(rule.apps) do
        names[i] = app .. queue.suffix
        there = there or apps[names[i]] ~= nil
      end
      if there or not rule.is_filter then
        table.insert(watches, watch(declared(resource, rule), names, rule))
      end
    end
  end
  local ports = {}
  for name in pairs(apps) do
    for _, pattern in ipairs(PORTS) do
      if name:match(pattern) then ports[#ports + 1] = name end
    end
  end
  table.sort(ports)
  for _, name in ipairs(ports) do
    for _, rule in ipairs(PORT_RATES) do
      table.insert(watches, watch(declared(name, rule), {name}, rule))
    end
  end
  return watches
end

--- What to look at where --last-good was given.
function M.last_good()
  return {alarm = declared("configuration", LAST_GOOD), paths = {last_good.COUNTER},
    period = 1, while_set = true}
end

local Watcher = {}
Watcher.__index = Watcher

--- The time, in seconds since 1970.
function M.now()
  local t = posix_time.clock_gettime(posix_time.CLOCK_REALTIME)
  return t.tv_sec + t.tv_nsec / 1e9
end

local function read(path)
  return tonumber((objects.read(shm.path(path)))) or 0
end

--- Watch the `router` (program.lwaftr.router) from now on. `list` is the lib.alarms.
--- `heard` is that of lib.alarms.
function M.of(router, heard)
  local o = M.watcher(router, heard, read, function ()
    return engine.configuration.apps
  end, M.now)
  outside.let_in{tend = function (now) o:tend(now) end}
  return o
end

--- The same, that reads counters by `counter_at(path)`, the apps there are by apps(),
--- and the time by clock(); its tend() is to be called.
function M.watcher(router, heard, counter_at, apps, clock)
  local o = setmetatable({router = router, list = alarms.new(heard), read = counter_at,
    apps = apps, clock = clock, watches = {}, at = 0}, Watcher)
  router:listen(function () o:begin() end)
  return o
end

-- Softwires come and go without a new list of queues.
function Watcher:begin()
  if self.queues == self.router.list then return end
  self.queues = self.router.list
  self.watches = M.watches(self.queues, self.apps())
  if self.router.has_last_good then table.insert(self.watches, M.last_good()) end
  self.at = 0
  self.list:declare(tables.field(self.watches, "alarm"), self.clock())
end

local function sum(self, paths)
  local result = 0
  for _, path in ipairs(paths) do result = result + self.read(path) end
  return result
end

-- Does the alarm apply? Nil: not known yet.
local function applies(self, each, now)
  if each.while_set then return sum(self, each.paths) > 0 end
  if not each.limit then
    if each.due == nil then return nil end
    return not each.is_known and sum(self, each.paths) == 0
  end
  local value, before, since = sum(self, each.paths), each.value, each.looked
  each.value, each.looked = value, now
  if not before then return nil end
  return value - before > each.limit * (now - since) / each.period
end

local function look(self, each, now)
  local is_raised = applies(self, each, now)
  each.due = now + each.period
  if is_raised == nil then return end
  if is_raised then
    self.list:raise(each.alarm, self.clock())
  else
    self.list:clear(each.alarm, self.clock())
  end
end

--- Look at some of what is due at the time `now` (in seconds, of any clock).
function Watcher:tend(now)
  local looks = 0
  for _ = 1, #self.watches do
    self.at = self.at % #self.watches + 1
    local each = self.watches[self.at]
    if not each.due or now >= each.due then
      look(self, each, now)
      looks = looks + 1
      if looks == MOST_LOOKS then return end
    end
  end
end

-- It isn't part of the packet path.
for _, f in pairs(Watcher) do
  if type(f) == "function" then jit.off(f, true) end
end

return M
