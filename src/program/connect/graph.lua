-- SPDX-License-Identifier: Apache-2.0
-- The apps of a run of connect: each side at its port, or the two at each other.

local C = require("core.native")
local config = require("core.config")
local conversations = require("apps.connect.conversations")
local engine = require("core.app")
local endpoint = require("apps.connect.endpoint")
local ffi = require("ffi")
local Port = require("apps.port.port").Port
local addresses = require("net.address.address")
local setup = require("apps.connect.setup")

local M = {}

local CLASS = {client = endpoint.Client, server = endpoint.Server}
local LIMIT = {client = 1000, server = 1000000}

-- Options that are an app's fields.
local FIELDS = {"clients", "servers", "client_ports", "server_ports", "gateway",
  "peer_mac", "vlan", "mtu", "http", "udp", "host", "request", "response", "requests",
  "think", "life", "timeout", "idle", "time_wait", "least_rto", "window",
  "template"}

local function argument(name, options, mac)
  local arg = {mac = options.mac or mac, held = name == "client"}
  for _, field in ipairs(FIELDS) do arg[field] = options[field] end
  arg.limit = options.concurrent or LIMIT[name]
  if name == "client" then arg.rate, arg.count = options.rate, options.count end
  return arg
end

-- The port's own MAC address as text, or nil.
local function mac_of(app)
  local bytes = ffi.new("uint8_t[6]")
  local mac = C.pg_port_mac(app.port, bytes) == 0 and ffi.string(bytes, 6)
  if not mac or mac:byte(1) % 2 == 1 or mac == ("\0"):rep(6) then return nil end
  return addresses.text(mac)
end

local function names(options)
  return options.side == "both" and {"client", "server"} or {options.side}
end

-- Refuse what is wrong before a port is opened: that may begin a file anew.
local function check(options)
  if options.template then options.template = conversations.read(options.template) end
  for _, name in ipairs(names(options)) do
    setup.new(name == "server", argument(name, options))
  end
end

--- Start the apps: a list of sides {name, port (as the user wrote it; nil: none), app}.
function M.configure(options)
  check(options)
  local c, sides = config.new(), {}
  for i, name in ipairs(names(options)) do
    sides[i] = {name = name, port = options.ports[i]}
    if options.ports[i] then config.app(c, name .. "_port", Port, options.ports[i]) end
  end
  engine.configure(c)
  for _, side in ipairs(sides) do
    local port = side.port and engine.app_table[side.name .. "_port"]
    config.app(c, side.name, CLASS[side.name],
      argument(side.name, options, port and mac_of(port)))
    if port then
      config.link(c, ("%s.output -> %s_port.input"):format(side.name, side.name))
      config.link(c, ("%s_port.output -> %s.input"):format(side.name, side.name))
    end
  end
  if #options.ports == 0 then
    config.link(c, "client.output -> server.input")
    config.link(c, "server.output -> client.input")
  end
  engine.configure(c)
  for _, side in ipairs(sides) do side.app = engine.app_table[side.name] end
  return sides
end

return M
