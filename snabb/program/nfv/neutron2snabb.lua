-- SPDX-License-Identifier: Apache-2.0
-- `perigee nfv neutron2snabb DUMP OUTPUT [HOSTNAME]`: configurations for the ports that
-- OpenStack Neutron's database has for a host, one for each port to the network.

local cli = require("lib.cli")
local cjson = require("cjson.safe")
local dump = require("program.nfv.dump")
local failure = require("core.failure")
local lib = require("core.lib")
local rules = require("program.nfv.rules")
local schema = require("program.nfv.schema")
local stat = require("posix.sys.stat")
local values = require("program.nfv.values")

local neutron = {}

-- Rows by the value of a column: each the last of them, or, `all`, a list.
local function by(rows, column, all)
  local found = {}
  for _, row in ipairs(rows) do
    local key = row[column]
    if all then
      found[key] = found[key] or {}
      table.insert(found[key], row)
    else
      found[key] = row
    end
  end
  return found
end

local function read(folder)
  return {
    ports = dump.rows(folder, "ports", {"id", "mac_address"}),
    bindings = by(dump.rows(folder, "ml2_port_bindings", {"port_id", "vif_type"}),
      "port_id"),
    rules = by(dump.rows(folder, "securitygrouprules", {"security_group_id",
      "direction", "ethertype"}), "security_group_id", true),
    groups = by(dump.rows(folder, "securitygroupportbindings", {"port_id",
      "security_group_id"}), "port_id", true),
  }
end

-- What Snabb's mechanism driver noted in the binding.
local function details(binding)
  local found, problem = cjson.decode(binding.vif_details or "")
  if type(found) ~= "table" then
    failure.usage("%s: vif_details is no JSON object: %s", binding.place,
      tostring(problem or found))
  end
  return found
end

-- The rules of all security groups that the port is in; nil if it is in none.
local function rules_of(database, id)
  local groups = database.groups[id]
  if not groups then return nil end
  local list = {}
  for _, group in ipairs(groups) do
    for _, rule in ipairs(database.rules[group.security_group_id] or {}) do
      local copy = {}
      for key, value in pairs(rule) do copy[key] = key ~= "place" and value or nil end
      list[#list + 1] = copy
    end
  end
  return list
end

local function tunnel_of(vif, profile)
  if profile.tunnel_type ~= "L2TPv3" then return nil end
  return {type = "L2TPv3", local_ip = vif.zone_ip, remote_ip = profile.l2tpv3_remote_ip,
    session = profile.l2tpv3_session, local_cookie = profile.l2tpv3_local_cookie,
    remote_cookie = profile.l2tpv3_remote_cookie,
    next_hop = profile.l2tpv3_next_hop}
end

local function table_or_none(value) return type(value) == "table" and value or {} end

-- JSON's null is nothing.
local function without_null(t)
  for key, value in pairs(t) do
    if value == cjson.null then t[key] = nil end
  end
  return t
end

-- The port of a configuration for a row of `ports`.
local function port_of(database, row, vif, say)
  local profile = without_null(table_or_none(vif["binding:profile"]))
  local list = rules_of(database, row.id)
  local port = {
    port_id = row.id, mac_address = row.mac_address, vlan = vif.zone_vlan,
    stateful_filter = profile.packetfilter ~= "stateless",
    rx_police = profile.rx_police_gbps, tx_police = profile.tx_police_gbps,
    tunnel = tunnel_of(vif, profile),
  }
  for _, direction in ipairs{"ingress", "egress"} do
    local filter = list and rules.filters(list, direction)
    port[direction .. "_filter"] = filter
    if not filter then
      say("port %s has no %s rules: it has no %s_filter", row.id, direction, direction)
    end
  end
  schema.check_port(port, function (_, _, sentence)
    failure.usage("%s: port '%s': %s", row.place, row.id, sentence)
  end)
  return port
end

--- The configurations of the dump in the folder for the host: lists of ports by the
--- name of the port to the network. `say(format, ...)` tells what the user should know.
function neutron.zones(folder, host, say)
  local database, zones = read(folder), {}
  table.sort(database.ports, function (a, b) return a.id < b.id end)
  for _, row in ipairs(database.ports) do
    local binding = database.bindings[row.id]
    local vif = binding and binding.vif_type == "vhostuser"
      and without_null(details(binding))
    if vif and vif.zone_host == host then
      local zone = vif.zone_port
      if type(zone) ~= "string" or not zone:match("^[%w_.%-]+$")
        or zone:match("^%.") then
        failure.usage("%s: zone_port %s can't name a file", binding.place,
          values.shown(zone))
      end
      zones[zone] = zones[zone] or {}
      if row.admin_state_up ~= "0" then
        table.insert(zones[zone], port_of(database, row, vif, say))
      end
    end
  end
  return zones
end

--- Run the command; `args` as in its usage.
function neutron.run(args)
  local p = cli.parser("nfv neutron2snabb", "Translate a dump of OpenStack Neutron's "
    .. "database to configurations, one for each port to the network, in files of "
    .. "its name.")
  p:argument("dump", "a folder with TABLE.txt and TABLE.sql, by mysqldump --tab")
  p:argument("output", "the folder to write configurations to")
  p:argument("hostname", "this host, as Neutron calls it (default: its name)"):args("?")
  local options = cli.parse(p, args)
  local host = options.hostname or lib.readfile("/proc/sys/kernel/hostname", "*l")
  local found = stat.stat(options.output)
  if not found or stat.S_ISDIR(found.st_mode) == 0 then
    failure.usage("%s isn't a folder", options.output)
  end
  local zones = neutron.zones(options.dump, host, function (...)
    io.stderr:write("perigee: ", (...):format(select(2, ...)), "\n")
  end)
  if not next(zones) then
    failure.usage("%s has no vhost-user port for the host '%s'", options.dump, host)
  end
  for name, ports in values.sorted(zones) do
    local path = options.output .. "/" .. name
    lib.store_conf(path, ports)
    print("Created " .. path)
  end
end

return neutron
