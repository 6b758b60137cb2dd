-- SPDX-License-Identifier: Apache-2.0
-- The state of a running lwAFTR, as upstream's snabb-softwire-v3 has it: counters of
-- each instance, and their sums.

local classes = {
  require("apps.lwaftr.lwaftr").LwAftr, require("apps.ipv4.arp").ARP,
  require("apps.lwaftr.ndp").NDP, require("apps.ipv4.echo").ICMPEcho,
  require("apps.ipv6.echo").ICMPEcho, require("apps.ipv4.reassemble").Reassembler,
  require("apps.ipv6.reassemble").Reassembler, require("apps.ipv4.fragment").Fragmenter,
  require("apps.ipv6.fragment").Fragmenter,
}
local schema = require("apps.lwaftr.conf_schema")
local shm = require("core.shm")
local totals = require("apps.lwaftr.totals")
local values = require("apps.lwaftr.conf_values")

local state = {}

local function names()
  local list, seen = {}, {}
  for _, class in ipairs(classes) do
    for name in pairs(class.shm) do
      if totals.is_one(name) and not seen[name] then list[#list + 1] = name end
      seen[name] = true
    end
  end
  table.sort(list)
  return list
end

--- The names of all counters, sorted.
state.counters = names()

local DISCONTINUITY = "discontinuity-time"

local function counters(with_time)
  local fields = {}
  if with_time then
    fields[1] = {name = DISCONTINUITY, type = values.date}
  end
  for _, name in ipairs(state.counters) do
    fields[#fields + 1] = {name = name, type = values.uint64}
  end
  return schema.container("softwire-state", fields)
end

--- The schema of the state (as apps.lwaftr.conf_schema).
state.schema = schema.container(nil, {
  schema.container("softwire-config", {
    schema.list("instance", "device", {
      {name = "device", type = values.text}, counters(),
    }),
  }),
  counters(true),
})

local function key(name) return (name:gsub("-", "_")) end

-- Counters of the apps whose names end with a suffix of the queues.
local function read(queues)
  local sums, result = {}, {}
  for _, queue in ipairs(queues) do
    totals.add(sums, shm.path(""), queue.suffix)
  end
  for _, name in ipairs(state.counters) do result[key(name)] = sums[name] or 0 end
  return result
end

--- The state of the `router` (program.lwaftr.router), a tree of the schema.
function state.of(router)
  local of_device, instances, sum = {}, {}, {}
  for _, queue in ipairs(router.list) do
    of_device[queue.device] = of_device[queue.device] or {}
    table.insert(of_device[queue.device], queue)
  end
  for _, name in ipairs(state.counters) do sum[key(name)] = 0 end
  for device, queues in pairs(of_device) do
    local read_now = read(queues)
    instances[device] = {softwire_state = read_now}
    for name, value in pairs(read_now) do sum[name] = sum[name] + value end
  end
  sum[key(DISCONTINUITY)] = os.date("!%Y-%m-%dT%H:%M:%SZ", router.changed)
  return {softwire_config = {instance = instances}, softwire_state = sum}
end

return state
