-- SPDX-License-Identifier: Apache-2.0
-- `perigee vtep`: a VXLAN tunnel end point between two ports.

local ffi = require("ffi")
local C = require("core.native")
local cli = require("lib.cli")
local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local arguments = require("program.vtep.arguments")
local reports = require("program.vtep.reports")
local Port = require("apps.port.port").Port
local settings = require("apps.vtep.settings")
local vtep = require("apps.vtep.vtep")

local M = {summary = "join Ethernet segments over IP: a VXLAN tunnel end point"}

--- Why --cpus is refused.
M.one_cpu = "its apps share a table of addresses, which they learn from both ports"

-- A locally administered address where the port has none (capture files).
local function random_mac()
  local bytes = {2}
  for i = 2, 6 do bytes[i] = math.random(0, 255) end
  return settings.text(string.char(unpack(bytes)))
end

local function mac_of(app)
  local bytes = ffi.new("uint8_t[6]")
  if C.pg_port_mac(app.port, bytes) ~= 0 then return random_mac() end
  local mac = ffi.string(bytes, 6)
  if mac == ("\0"):rep(6) or mac:byte(1) % 2 == 1 then return random_mac() end
  return settings.text(mac)
end

-- When files end, or after the time given.
local function ending(ports, duration)
  local files = {}
  for _, app in ipairs(ports) do
    if app.description.kind == "pcap" and app.description.rx then
      files[#files + 1] = app
    end
  end
  local ends = duration and engine.now() + duration or math.huge
  local function idle()
    for _, app in ipairs(files) do
      if not app:ended() then return false end
    end
    for _, l in pairs(engine.link_table) do
      if not link.empty(l) then return false end
    end
    return true
  end
  return function ()
    return engine.now() >= ends or (#files > 0 and idle())
  end
end

--- The configuration of a run with these options (program.vtep.arguments) and this MAC
--- address (text); and the tunnel.
function M.graph(options, mac)
  local c = M.ports(options)
  return c, vtep.add(c, "vtep", arguments.tunnel(options, mac), "inner", "outer")
end

--- The configuration of the ports alone.
function M.ports(options)
  local c = config.new()
  config.app(c, "inner", Port, options.inner)
  config.app(c, "outer", Port, options.outer)
  return c
end

--- Run the program: `args` as in its usage.
function M.run(args)
  math.randomseed(tonumber(C.pg_tsc() % 2^31))
  local parsed = cli.parse(arguments.parser(), args)
  local options = arguments.options(parsed)
  arguments.check(options, parsed)
  local mac = options.mac
  if not mac then
    engine.configure(M.ports(options))
    mac = mac_of(engine.app_table.outer)
  end
  local c, tunnel = M.graph(options, mac)
  engine.configure(c)
  io.write(reports.heading(tunnel))
  io.flush()
  if options.report then reports.every(options.report, tunnel) end
  local apps = engine.app_table
  engine.main{done = ending({apps.inner, apps.outer}, options.duration)}
end

return M
