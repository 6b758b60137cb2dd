-- SPDX-License-Identifier: Apache-2.0
-- `perigee pci_bind`: gives network cards to DPDK (vfio-pci), and back to the kernel.
-- Nothing is changed without --do.

local cli = require("lib.cli")
local failure = require("core.failure")
local pci_device = require("lib.hardware.pci_device")
local steps = require("program.pci_bind.steps")
local sysfs = require("lib.hardware.sysfs")

local M = {summary = "give PCI network cards to DPDK, or back to the kernel"}

local function parser()
  local p = cli.parser("pci_bind", "Give PCI network devices to DPDK, by the driver "
    .. "vfio-pci, or back to the kernel. Without --do, only print what would be "
    .. "written into sysfs. Devices in use are refused.")
  p:mutex(
    p:option("-u --unbind", "Take the device from the kernel, for DPDK.")
      :argname("ADDRESS"),
    p:option("-b --bind", "Give the device back to the kernel."):argname("ADDRESS"),
    p:option("-i --info", "Print the name of its interface."):argname("ADDRESS"),
    p:option("-r --remove", "Make the kernel forget the device, until --all.")
      :argname("ADDRESS"),
    p:flag("-a --all", "Make the kernel look for all devices again."))
  p:flag("--do", "Do it, instead of printing what would be done.")
  p:flag("--force", "With --do: even if its interface is up, or a process has it open.")
  return p
end

-- Acting -------------------------------------------------------------------------

-- Sysfs refuses when the text is written out: at the flush.
local function write(path, text)
  local file, problem = io.open(path, "w")
  if not file then return nil, problem end
  local ok
  ok, problem = file:write(text)
  if ok then ok, problem = file:flush() end
  file:close()
  return ok, problem
end

local function say(list)
  for _, step in ipairs(list) do
    local text = step.text:gsub("\n", "")
    print(("  echo %s> %s"):format(text == "" and "" or text .. " ", step.path))
  end
end

local function act(list, writer)
  for _, step in ipairs(list) do
    local ok, problem = writer(step.path, step.text)
    if not ok then
      failure.raise("can't write to %s: %s; the steps before it were done", step.path,
        problem)
    end
  end
end

-- Say what would be done, or do it; whether it was done.
local function carry_out(list, what, options, writer)
  if options["do"] then
    act(list, writer)
    return true
  end
  print(("To %s:"):format(what))
  say(list)
  print("This was a dry run, nothing has changed; add --do to do it.")
  return false
end

-- Refusing -----------------------------------------------------------------------

local function check_use(device, options, roots)
  local route = steps.carries_default_route(device, roots)
  if route then
    failure.usage("%s stays as it is: the machine's default route goes over its "
      .. "interface %s", device.address, route)
  end
  local use = steps.use(device, roots)
  if use and not (options["do"] and options.force) then
    failure.usage("%s is in use: %s (--do --force overrides this)", device.address, use)
  end
end

local function check_driver(device, wanted, roots)
  local now = pci_device.read(device.address, roots)
  if not now or not wanted(now) then
    failure.raise("the kernel hasn't bound %s as asked: it has the driver %s; `dmesg` "
      .. "may say why", device.address, now and now.driver or "(none)")
  end
  return now
end

-- The actions --------------------------------------------------------------------

local actions = {}

function actions.unbind(device, options, roots, writer)
  local list = steps.to_dpdk(device, roots)
  if #list == 0 then
    return print(("%s can be used already: its driver is %s"):format(device.address,
      device.driver))
  end
  check_use(device, options, roots)
  local obstacle = steps.obstacle(device, roots)
  if obstacle then failure.usage("%s can't be bound: %s", device.address, obstacle) end
  local what = ("give %s (driver %s) to DPDK"):format(device.address,
    device.driver or "none")
  if carry_out(list, what, options, writer) then
    check_driver(device, function (now) return now.driver == steps.DRIVER end, roots)
    print(("%s is bound to %s: use it as the port %s"):format(device.address,
      steps.DRIVER, device.address))
  end
  local mates = steps.group_mates(device, roots)
  if #mates > 0 then
    print(("Its IOMMU group has other devices that kernel drivers have: %s. DPDK can "
      .. "use it only when those are bound to %s, or to no driver, too.")
      :format(table.concat(mates, ", "), steps.DRIVER))
  end
end

local function print_interface(device)
  if #device.interfaces == 0 then
    failure.raise("%s has no interface: its driver is %s", device.address,
      device.driver or "none")
  end
  print(("%s is known as %s"):format(device.address,
    table.concat(device.interfaces, " ")))
end

function actions.bind(device, options, roots, writer)
  local list = steps.to_kernel(device, roots)
  if #list == 0 then
    return print(("the kernel has %s already: its driver is %s"):format(device.address,
      device.driver))
  end
  check_use(device, options, roots)
  local what = ("give %s (driver %s) back to the kernel"):format(device.address,
    device.driver or "none")
  if carry_out(list, what, options, writer) then
    local now = check_driver(device, function (d)
      return d.driver and d.driver ~= steps.DRIVER
    end, roots)
    print(("%s is bound to the kernel's driver %s"):format(now.address, now.driver))
    if #now.interfaces > 0 then print_interface(now) end
  end
end

function actions.info(device)
  print_interface(device)
end

function actions.remove(device, options, roots, writer)
  check_use(device, options, roots)
  local list = steps.remove(device, roots)
  if carry_out(list, "remove " .. device.address, options, writer) then
    print(("%s is removed; `perigee pci_bind --all --do` brings it back"):format(
      device.address))
  end
end

--- Do what the parsed `options` ask for. `roots` and `writer` (path, text: true, or nil
--- and the reason) are for tests.
function M.execute(options, roots, writer)
  roots, writer = roots or sysfs.roots, writer or write
  if options.all then
    if carry_out(steps.rescan(roots), "look for devices", options, writer) then
      print("the kernel has looked for PCI devices; `perigee ports` lists them")
    end
    return
  end
  for _, name in ipairs{"unbind", "bind", "info", "remove"} do
    if options[name] then
      local device = steps.device(options[name], roots)
      return actions[name](device, options, roots, writer)
    end
  end
  failure.usage("say what to do: --unbind, --bind, --info or --remove with an address, "
    .. "or --all; see `perigee pci_bind --help`")
end

--- Run the program: `args` as in its usage.
function M.run(args)
  M.execute(cli.parse(parser(), args))
end

return M
