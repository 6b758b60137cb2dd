-- SPDX-License-Identifier: Apache-2.0
-- The part of a configuration that one queue's apps are for.

local ffi = require("ffi")
local failure = require("core.failure")
local Binding = require("apps.lwaftr.binding")
local Softwires = require("apps.lwaftr.softwires")
local tables = require("core.lib.tables")

local instance = {}

local function only(entries, what)
  local found
  for key, entry in pairs(entries) do
    if found then failure.usage("the configuration has more than one %s", what) end
    found = {key, entry}
  end
  if not found then failure.usage("the configuration has no %s", what) end
  return found[1], found[2]
end

-- The entry `key`, or the only one if that is nil; and its key.
local function pick(entries, key, what)
  if key == nil then return only(entries, what) end
  if not entries[key] then
    failure.usage("the configuration has no %s '%s'", what, tostring(key))
  end
  return key, entries[key]
end

--- The device, the number and the settings of the queue that `conf` is of, or of that
--- `device` and queue number `id` of it. (Upstream's workers have the whole
--- configuration, and say which queue is theirs.)
function instance.queue(conf, device, id)
  if type(conf.softwire_config) ~= "table" then
    failure.usage("an lwAFTR's configuration has no softwire_config")
  end
  local own = conf.worker_config
  if own and not device then device, id = own.device, own.queue_id end
  local name, settings = pick(conf.softwire_config.instance, device, "instance")
  local number, queue = pick(settings.queue, id, "queue")
  return name, number, queue
end

--- The settings of softwire-config, its interfaces joined with those of the queue.
function instance.merge(conf)
  local _, _, queue = instance.queue(conf)
  local all = conf.softwire_config
  return {
    binding_table = all.binding_table, name = all.name,
    external_interface = tables.copy(all.external_interface, queue.external_interface),
    internal_interface = tables.copy(all.internal_interface, queue.internal_interface),
  }
end

-- From a list of upstream's. All softwires of an address have the port set of the
-- first.
local function copy(list)
  local softwires, s = Softwires.new(), ffi.new("struct softwire")
  for _, entry in ipairs(list) do
    s.ipv4, s.psid = entry.ipv4, entry.psid
    s.psid_length = entry.port_set.psid_length
    s.reserved = entry.port_set.reserved_ports_bit_count or 0
    local length, reserved = softwires:port_set(s.ipv4)
    if length then s.psid_length, s.reserved = length, reserved end
    ffi.copy(s.ends.b4, entry.b4_ipv6, 16)
    ffi.copy(s.ends.br, entry.br_address, 16)
    softwires:add(s)
  end
  return softwires
end

--- The softwires (apps.lwaftr.softwires) of a configuration's binding table.
function instance.softwires(binding_table)
  return binding_table.softwires or copy(binding_table.softwire)
end

--- Let `path` (struct lwaftr_path) look things up in a configuration's binding table;
--- returns the apps.lwaftr.binding.
function instance.join(binding_table, path)
  local binding
  if binding_table.shared then
    binding = Binding.numbered(binding_table.shared)
  else
    binding = Binding.new(instance.softwires(binding_table))
  end
  binding:join(path)
  return binding
end

return instance
