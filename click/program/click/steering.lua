-- SPDX-License-Identifier: Apache-2.0
-- Copies of a router that have devices in common: packets of a flow, and answers to
-- them, come to one copy. Where a device's queues don't see to that, it is one app,
-- whose packets are handed out by their flows (core.cpus.distribute).

local balancer = require("core.cpus.balancer")
local config = require("core.config")
local click_devices = require("click.devices.device")
local distribute = require("core.cpus.distribute")
local Port = require("apps.port.port").Port

local steering = {}

-- The argument of the Port app by which the first copy has the device for itself; nil:
-- it is one app for all copies.
local function own_port(device, n, meets)
  local has_to_meet = click_devices.has_to_meet(device, meets)
  return Port.split({port = device.text}, n, 0, has_to_meet)
end

local function is_shared(device, n, meets)
  return #device.receivers < 2 and own_port(device, n, meets) == nil
end

--- Lines on how devices are divided among copies on these CPUs.
function steering.explain(router, cpus, meets)
  local lines, number = {}, 0
  for _, key in ipairs(config.sorted_keys(router.devices.by_text)) do
    local device = router.devices.by_text[key]
    local own = own_port(device, #cpus, meets)
    local how = own and own.meets
      and "opened by each copy, which receives only what is for it"
      or "a queue for each copy"
    if is_shared(device, #cpus, meets) then
      number = number + 1
      how = ("one queue, on CPU %d%s"):format(cpus[(number - 1) % #cpus + 1],
        #device.receivers > 0 and "; its packets are handed out in software" or "")
    end
    lines[#lines + 1] = ("  %s: %s"):format(device.text, how)
  end
  return lines
end

--- The router's devices that `n` copies have in common: a list of {text =, name =,
--- arg = of the Port app, receives =, sends =}. `meets`: see program.click.copies.
function steering.devices(router, n, meets)
  local list = {}
  for _, key in ipairs(config.sorted_keys(router.devices.by_text)) do
    local device = router.devices.by_text[key]
    local receives = #device.receivers > 0
    if is_shared(device, n, meets) then
      list[#list + 1] = {text = device.text, name = "device_" .. #list + 1,
        arg = device:argument(1), receives = receives, sends = #device.senders > 0}
    end
  end
  return list
end

--- Their numbers, by port string.
function steering.numbers(devices)
  local numbers = {}
  for i, device in ipairs(devices) do numbers[device.text] = i end
  return numbers
end

-- The app of the device, and what is between it and the copies.
local function wire_one(c, number, device, cpu, copies, app_of, meets)
  local name = device.name
  local flows, join = name .. "_flows", name .. "_join"
  config.app(c, name, Port, device.arg)
  config.cpu(c, name, cpu)
  if device.receives then
    config.app(c, flows, distribute.Distribute,
      {by = meets, steering = balancer.table(flows, copies)})
    config.cpu(c, flows, cpu)
    config.link(c, ("%s.output -> %s.input"):format(name, flows))
  end
  if device.sends then
    config.app(c, join, distribute.Join)
    config.cpu(c, join, cpu)
    config.link(c, ("%s.output -> %s.input"):format(join, name))
  end
  for i = 1, copies do
    if device.receives then
      config.link(c, ("%s.output%d -> %s.rx%d"):format(flows, i, app_of(i), number))
    end
    if device.sends then
      config.link(c, ("%s.tx%d -> %s.input%d"):format(app_of(i), number, join, i))
    end
  end
end

--- Add the devices to the configuration, on these CPUs in turn. app_of(i) is the name
--- of the copy on the CPU `i` of the list.
function steering.wire(c, devices, cpus, app_of, meets)
  for number, device in ipairs(devices) do
    wire_one(c, number, device, cpus[(number - 1) % #cpus + 1], #cpus, app_of, meets)
  end
end

return steering
