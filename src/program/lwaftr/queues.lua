-- SPDX-License-Identifier: Apache-2.0
-- The queues of a configuration: each instance (a device) has some, and each queue is
-- an lwAFTR of its own, with the one binding table. Pure.

local lib = require("core.lib")

local queues = {}

-- What stands behind the names of a queue's apps.
local function suffix_of(device, id)
  return ("@%s_%d"):format(device:gsub("[^%w_]", "_"), id)
end

-- The part of a configuration that one queue's apps are made of: all but what can
-- change without them (the name, the softwires and their version, other queues).
local function part(conf, device, id, queue)
  local all = conf.softwire_config
  return {softwire_config = {
    external_interface = all.external_interface,
    internal_interface = all.internal_interface,
    instance = {[device] = {queue = {[id] = queue}}},
  }}
end

local function before(a, b)
  if a.device ~= b.device then return a.device < b.device end
  return a.id < b.id
end

--- All queues, in the order of their devices and numbers: a list of {device =, id =,
--- external_device = (or nil: on a stick), suffix = of its apps' names, settings = the
--- queue's, conf = a configuration of it alone, without the binding table}.
function queues.list(conf)
  local list = {}
  for device, instance in pairs(conf.softwire_config.instance) do
    for id, queue in pairs(instance.queue) do
      list[#list + 1] = {
        device = device, id = id, external_device = instance.external_device,
        suffix = suffix_of(device, id), settings = queue,
        conf = part(conf, device, id, queue),
      }
    end
  end
  table.sort(list, before)
  return list
end

--- The queue's configuration without the VLAN tags of the sides that `untagged` names
--- ({v4 =, v6 = true}), whose frames somebody else takes the tags off.
function queues.untagged(queue, untagged)
  local conf = lib.deepcopy(queue.conf)
  local settings = conf.softwire_config.instance[queue.device].queue[queue.id]
  if untagged.v4 then settings.external_interface.vlan_tag = nil end
  if untagged.v6 then settings.internal_interface.vlan_tag = nil end
  return conf
end

return queues
