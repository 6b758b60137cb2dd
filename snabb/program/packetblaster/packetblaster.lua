-- SPDX-License-Identifier: Apache-2.0
-- `perigee packetblaster`: as many packets as a port takes, from a file (replay) or
-- made up (synth). The subprograms set up an app `source`; here are the ports.

local engine = require("core.app")
local config = require("core.config")
local failure = require("core.failure")
local lib = require("core.lib")
local cli = require("lib.cli")
local pci = require("lib.hardware.pci")
local progress = require("lib.progress")
local spec = require("lib.port.spec")
local Port = require("apps.port.port").Port

local M = {summary = "send packets to ports as fast as they take them"}

--- Why --cpus is refused.
M.one_cpu = "one thread keeps to the rate and to the number of packets"

local function matches(address, pattern)
  local ok, found = pcall(string.find, address, pattern)
  return ok and found ~= nil
end

--- The ports that `argument` means, an array: the usable PCI devices (entries of
--- `devices`, as lib.hardware.pci has them) whose full address the Lua pattern
--- matches; if there are none, the port string that it is.
function M.ports_of(argument, devices)
  local ports = {}
  for _, device in ipairs(devices) do
    local address = pci.qualified(device.pciaddress)
    if device.usable and matches(address, argument) then
      ports[#ports + 1] = address
    end
  end
  if #ports == 0 then
    local ok = pcall(spec.parse, argument)
    if not ok then
      failure.usage("'%s' matches no usable PCI device, and is no port string;"
                    .. " `perigee ports` lists what can be used", argument)
    end
    ports[1] = argument
  end
  return ports
end

--- The ports that the array `arguments` means, each once.
function M.ports(arguments, devices)
  local ports, seen = {}, {}
  for _, argument in ipairs(arguments) do
    for _, port in ipairs(M.ports_of(argument, devices)) do
      if not seen[port] then
        seen[port] = true
        ports[#ports + 1] = port
      end
    end
  end
  return ports
end

local function totals(ports)
  local packets, bits = 0, 0
  for _, app in ipairs(ports) do
    local failed = app:statistics().oerrors
    local n, bytes = tonumber(app.port.txpackets) - failed, tonumber(app.port.txbytes)
    packets = packets + n
    bits = bits + 8 * (bytes + 24 * n)
  end
  return {packets = packets, bits = bits}
end

--- Send what the app `source` of the configuration `c` gives to all ports that
--- `arguments` mean, for `duration` seconds (nil: until stopped), or until `done()`.
function M.blast(c, arguments, duration, done)
  pci.scan_devices()
  local names = {}
  for i, port in ipairs(M.ports(arguments, pci.devices)) do
    names[i] = "nic" .. i
    config.app(c, names[i], Port, port)
    config.link(c, ("source.output%d -> %s.input"):format(i, names[i]))
  end
  engine.busywait = true
  engine.configure(c)
  local ports = {}
  for i, name in ipairs(names) do
    ports[i] = engine.app_table[name]
  end
  local line = progress.start{
    label = "packetblaster", duration = duration,
    sample = function() return totals(ports) end,
  }
  local started = engine.now()
  local ok, err = pcall(engine.main, {no_report = true, done = function()
    return duration ~= nil and engine.now() - started >= duration
      or done ~= nil and done()
  end})
  line:finish()
  engine.report{showlinks = true, showapps = true}
  if not ok then
    error(err, 0)
  end
end

--- Snabb's: the same for programs that make the app `source` themselves. `patterns` is
--- an array of PCI arguments; `options` may have `duration`.
function M.run_loadgen(c, patterns, options)
  M.blast(c, patterns, options and options.duration)
end

local SUBPROGRAMS = {"replay", "synth"}

local function parser()
  local p = cli.parser("packetblaster",
    "Send packets to one or more ports as fast as they take them. See `perigee"
    .. " packetblaster replay --help` and `perigee packetblaster synth --help` for"
    .. " options. `perigee --snabb DIR packetblaster` runs the checkout's other"
    .. " subprograms too (lwaftr, ipfix).")
  p:argument("subprogram", "replay (packets of a file) or synth (generated packets).")
    :choices(SUBPROGRAMS)
  return p
end

-- The module of a subprogram that Perigee hasn't: of the checkout that --snabb gave, or
-- of a tree that -p gave.
local function module_of(name)
  name = (name or ""):gsub("-", "_")
  local module = ("program.packetblaster.%s.%s"):format(name, name)
  return name:match("^[%w_]+$") and lib.have_module(module) and module
end

--- Run the subprogram args[1].
function M.run(args)
  local name = table.remove(args, 1)
  local module = module_of(name)
  if not module then
    cli.parse(parser(), {name})
    return
  end
  require(module).run(args)
end

return M
