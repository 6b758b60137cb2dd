-- SPDX-License-Identifier: Apache-2.0
-- Several driver apps on one card, which Snabb's drivers distinguish by its queues and
-- pools for virtual machines (VMDq), in software: the card's port, and behind it a
-- switch by VLAN and MAC address if there are pools, and what hands the packets of a
-- pool out by flow if several apps receive them. (core.engine.expand) Pure.

local Distribute = require("core.cpus.distribute").Distribute
local Join = require("core.cpus.distribute").Join
local Pool = require("apps.intel_mp.pool")
local Port = require("apps.port.port").Port
local RateLimiter = require("apps.rate_limiter.rate_limiter").RateLimiter
local VlanSwitch = require("apps.vlan_switch.vlan_switch").VlanSwitch
local mirrors = require("apps.intel_mp.mirrors")
local pci = require("lib.hardware.pci")
local pools = require("apps.intel_mp.pools")

local sharing = {}

local MEGABIT = 125000 -- bytes
local BURST_S, LEAST_BURST = 0.01, 10000 -- what a limited app may send at once

local ADDRESS = "^%x*:?%x+:%x%x%.%x$"

--- The name of the card at an address, or of any port given as text.
function sharing.name(text)
  return "card@" .. pci.canonical(text):lower():gsub("[^%w_]", "_")
end

local function has_pool(conf) return conf.vmdq or conf.vlan end

-- Does the app need more than a port of its own?
local function is_special(conf)
  return has_pool(conf) or conf.mirror or (conf.rate_limit or 0) ~= 0
end

--- The name of the card that the driver app of argument `conf` shares: that of a PCI
--- address, whatever `--port` puts in its place. Other ports are the app's own ("null"
--- is another one each time), but for what only a shared one can do.
function sharing.card(conf)
  local text = conf.pciaddr
  if type(text) ~= "string" then return nil end
  return (text:match(ADDRESS) or is_special(conf)) and sharing.name(text) or nil
end

local function any(apps, is)
  for _, app in ipairs(apps) do
    if is(app.arg) then return true end
  end
  return false
end

-- Packets that go out by `from` to those apps of the list that receive, by flow; and
-- what the apps send, to `to`. Ends are written "app.port".
local function join_apps(part, apps, name, from, to)
  local receivers, senders = {}, {}
  for _, app in ipairs(apps) do
    if app.arg.rxq ~= false then receivers[#receivers + 1] = app end
    if app.arg.txq ~= false then senders[#senders + 1] = app end
  end
  table.sort(receivers, function (a, b) return (a.arg.rxq or 0) < (b.arg.rxq or 0) end)
  if #receivers > 1 then
    part:app(name .. "_flows", Distribute)
    part:link(from, name .. "_flows.input")
  end
  for i, app in ipairs(receivers) do
    part:link(#receivers == 1 and from or ("%s_flows.output%d"):format(name, i),
      app.name .. ".card")
  end
  if #senders > 1 then
    part:app(name .. "_join", Join)
    part:link(name .. "_join.output", to)
  end
  for i, app in ipairs(senders) do
    local out = app.name .. ".card"
    local bytes = (app.arg.rate_limit or 0) * MEGABIT
    if bytes > 0 then
      part:app(app.name .. "/rate", RateLimiter, {rate = bytes,
        bucket_capacity = math.max(bytes * BURST_S, LEAST_BURST)})
      part:link(out, app.name .. "/rate.input")
      out = app.name .. "/rate.output"
    end
    part:link(out, #senders == 1 and to or ("%s_join.input%d"):format(name, i))
  end
end

local function switch_ports(list)
  local ports = {}
  for i, pool in ipairs(list) do
    ports[i] = {name = "pool" .. pool.number, vlan = pool.conf.vlan or 0,
      mac = pool.conf.vmdq and pool.conf.macaddr or nil}
  end
  return ports
end

local Part = {}
Part.__index = Part
function Part:app(name, class, arg) self.apps[name] = {class = class, arg = arg} end
function Part:link(from, to) self.links[from .. " -> " .. to] = true end

local ENDS = {inputs = {input = "input", rx = "input"},
              outputs = {output = "output", tx = "output"}}

local function new_part()
  local part = setmetatable({apps = {}, links = {}}, Part)
  for direction, names in pairs(ENDS) do
    part[direction] = function (port, name)
      return names[port] and name .. "." .. names[port]
    end
  end
  return part
end

--- What the driver `apps` on the card `card` stand for (core.engine.expand); nil for a
--- single one that has the whole port.
function sharing.expand(apps, card)
  if #apps == 1 and not is_special(apps[1].arg) then return nil end
  pools.check(apps)
  for _, app in ipairs(apps) do app.class.port_argument(app.arg) end -- may refuse it
  local part, port, switch = new_part(), card .. "/port", card .. "/switch"
  part:app(port, Port, apps[1].class.port_argument(apps[1].arg))
  local copied = mirrors.of(apps)
  local from, to = mirrors.of_wire(part, copied, card .. "/mirror", port .. ".output",
    port .. ".input")
  local list = {{number = 0, apps = apps, conf = apps[1].arg}}
  if any(apps, has_pool) then
    list = pools.of(apps)
    part:app(switch, VlanSwitch, {trunk = "trunk", ports = switch_ports(list),
      timeout = 300, addresses = 4096})
    part:link(from, switch .. ".trunk")
    part:link(switch .. ".trunk", to)
  else
    pools.check_queues(apps)
  end
  for _, pool in ipairs(list) do
    local name = ("%s/pool%d"):format(card, pool.number)
    if part.apps[switch] then
      from = ("%s.pool%d"):format(switch, pool.number)
      to = from
    end
    join_apps(part, pool.apps, name, from, to)
    for _, app in ipairs(pool.apps) do
      local n = mirrors.of_pool(part, copied, pool, app)
      part:app(app.name, n > 0 and Pool.Mirrored or Pool,
        {conf = app.arg, card = port, number = pool.conf.vmdq and pool.number,
         mirrors = n})
    end
  end
  return part
end

return sharing
