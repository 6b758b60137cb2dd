-- SPDX-License-Identifier: Apache-2.0
-- What Ethernet bridges share: ports, and which of them a packet from one may go to. A
-- port is free, or a member of one split-horizon group: packets never go from
-- one member of a group to another. Ports and groups have numbers, from 1; the
-- group 0 is that of free ports.

local class = require("lib.lua.class")
local failure = require("core.failure")
local sorted_keys = require("core.config").sorted_keys

local bridge = class.subClass(nil)
bridge.division = "none"
bridge.undivided = "copies would learn different tables of addresses"
bridge._name = "base bridge"
bridge.config = {
  ports = {default = {}, kind = "table"},
  split_horizon_groups = {kind = "table"},
  config = {default = {}, kind = "table"},
}

local function add_port(ports, name, group)
  if ports[name] then
    failure.usage("a bridge's port '%s' is listed twice; it can be free or in one "
      .. "split-horizon group", tostring(name))
  end
  local port = {name = name, group = group, handle = #ports + 1}
  ports[name], ports[port.handle] = port, port
  return port
end

-- Fills in `ports`, by number and by name; the groups, by number and by name.
local function add_groups(ports, members)
  local groups = {}
  for handle, name in ipairs(sorted_keys(members)) do
    local group = {name = name, handle = handle, ports = {}}
    groups[name], groups[handle] = group, group
    if type(members[name]) ~= "table" then
      failure.usage("a bridge's split-horizon group '%s' is a %s, not a list of ports",
        tostring(name), type(members[name]))
    end
    for _, port in ipairs(members[name]) do
      table.insert(group.ports, add_port(ports, port, handle).handle)
    end
  end
  return groups
end

local function may_go(from, to)
  return from ~= to and (from.group == 0 or from.group ~= to.group)
end

-- Port -> the ports that packets from it may go to.
local function destinations(ports)
  local list = {}
  for i, from in ipairs(ports) do
    list[i] = {}
    for j, to in ipairs(ports) do
      if may_go(from, to) then table.insert(list[i], j) end
    end
  end
  return list
end

--- `conf.ports`: names of free ports; `conf.split_horizon_groups`: {GROUP = names}.
--- The object has _ports (by number and name: {name =, handle =, group =}, with l_in
--- and l_out once linked), _groups and _dst_ports (of each port, where from it
--- packets may go), and `conf` as _conf.
function bridge:new(conf)
  assert(self ~= bridge, "the base bridge has no objects: derive a class from it")
  local o = bridge:superClass().new(self)
  o._conf = conf
  o._ports = {}
  for _, name in ipairs(conf.ports or {}) do add_port(o._ports, name, 0) end
  o._groups = add_groups(o._ports, conf.split_horizon_groups or {})
  o._dst_ports = destinations(o._ports)
  return o
end

--- The links of each port, into its table.
function bridge:link()
  for _, port in ipairs(self._ports) do
    port.l_in, port.l_out = self.input[port.name], self.output[port.name]
  end
end

local function described(port) return ("%s(%d)"):format(port.name, port.handle) end

local function print_members(title, ports, members)
  print("\t" .. title)
  for _, i in ipairs(members) do print("\t\t" .. described(ports[i])) end
end

--- Print ports, groups, and where packets from each port may go.
function bridge:info()
  print("Free ports:")
  for _, port in ipairs(self._ports) do
    if port.group == 0 then print("\t" .. described(port)) end
  end
  print("Split-horizon groups:")
  for _, group in ipairs(self._groups) do
    print_members(described(group) .. ", members:", self._ports, group.ports)
  end
  print("Forwarding tables:")
  for i, port in ipairs(self._ports) do
    print_members(described(port), self._ports, self._dst_ports[i])
  end
end

return {bridge = bridge}
