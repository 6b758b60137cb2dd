-- SPDX-License-Identifier: Apache-2.0
-- Snabb's apps for Mellanox ConnectX cards: ConnectX is the card's set-up, which DPDK
-- does here, and IO is the Port app, by PCI address. Those of several queues share the
-- card (apps.intel_mp.sharing).

local alias = require("apps.port.port").alias
local failure = require("core.failure")
local refuse = require("lib.refuse")
local sharing = require("apps.intel_mp.sharing")

local M = {}

local FLOW_CONTROL = "set it with ethtool (ethtool -A), which the card keeps"
local REFUSED = {fc_rx_enable = FLOW_CONTROL, fc_tx_enable = FLOW_CONTROL}

--- The set-up of a card: it checks its argument and has no links.
local ConnectX = {
  config = {
    pciaddress = {required = true},
    sendq_size = {default = 1024},
    recvq_size = {default = 1024},
    mtu = {default = 9500},
    fc_rx_enable = {default = false},
    fc_tx_enable = {default = false},
    queues = {required = true},
    macvlan = {default = false},
    sync_stats_interval = {default = 1},
  },
}
ConnectX.__index = ConnectX
M.ConnectX = ConnectX

--- A usage error unless conf.queues is an array of queues with an `id` each.
function ConnectX.check_arg(conf)
  refuse("ConnectX", conf.pciaddress, conf, REFUSED)
  local queues, seen = conf.queues, {}
  if type(queues) ~= "table" or #queues == 0 then
    failure.usage("ConnectX on %s: `queues` must be an array of queues, not %s",
      conf.pciaddress, type(queues) == "table" and "empty" or type(queues))
  end
  for _, queue in ipairs(queues) do
    local id = type(queue) == "table" and queue.id
    if type(id) ~= "string" or seen[id] then
      failure.usage("ConnectX on %s: each of its `queues` is a table with an `id` of "
        .. "its own, not %s", conf.pciaddress,
        id and ("'%s' again"):format(tostring(id)) or tostring(queue))
    end
    seen[id] = true
  end
end

--- Nothing is opened: the IO apps do that.
function ConnectX:new(conf)
  self.check_arg(conf)
  return setmetatable({}, self)
end

--- The packets of a queue of the card.
local IO = alias {
  name = "IO",
  config = {
    pciaddress = {required = true},
    queue = {required = true},
    packetblaster = {default = false},
  },
  port = function(conf)
    refuse("IO", conf.pciaddress, conf,
      {packetblaster = "use LoadGen of apps.intel_mp.loadgen"})
    return conf.pciaddress
  end,
}
M.IO = IO

-- The queues by `id` where nobody says which the card has.
local function queues_used(apps)
  local ids, by_id = {}, {}
  for _, app in ipairs(apps) do ids[#ids + 1] = tostring(app.arg.queue) end
  table.sort(ids)
  for i, id in ipairs(ids) do by_id[id] = by_id[id] or {number = i - 1} end
  return by_id
end

-- The card's queues by `id`, as its set-up says, and their numbers.
local function queues_of(apps)
  for _, app in ipairs(apps) do
    if app.class == ConnectX then
      ConnectX.check_arg(app.arg)
      local by_id = {}
      for i, queue in ipairs(app.arg.queues) do
        by_id[queue.id] = {number = i - 1, vlan = queue.vlan, mac = queue.mac}
      end
      return by_id
    end
  end
  return queues_used(apps)
end

-- The app of a queue as apps.intel_mp.sharing takes it.
local function with_queue(app, queue)
  local arg = {pciaddr = app.arg.pciaddress, rxq = queue.number, vlan = queue.vlan,
               macaddr = queue.mac, vmdq = queue.mac ~= nil}
  for key, value in pairs(app.arg) do arg[key] = value end
  return {name = app.name, class = app.class, arg = arg}
end

-- A card's set-up and the IO apps of its queues; those share it.
local function expand(apps, card)
  local queues, ios, setups = queues_of(apps), {}, {}
  for _, app in ipairs(apps) do
    if app.class == ConnectX then
      setups[app.name] = {class = app.class, arg = app.arg}
    else
      local id = tostring(app.arg.queue)
      local queue = queues[id]
      if not queue then
        failure.usage("app '%s': the card %s has no queue '%s'", app.name,
          app.arg.pciaddress, id)
      end
      ios[#ios + 1] = with_queue(app, queue)
    end
  end
  if #ios == 0 then return nil end
  local part = sharing.expand(ios, card)
  for name, setup in pairs(part and setups or {}) do part.apps[name] = setup end
  return part
end

for _, class in ipairs{ConnectX, IO} do
  function class.shares(conf)
    local text = conf.pciaddress
    return type(text) == "string" and sharing.name(text) or nil
  end
  class.expand_together = expand
end

--- The class under the name by which programs choose among driver modules.
M.driver = ConnectX

return M
