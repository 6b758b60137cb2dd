-- SPDX-License-Identifier: Apache-2.0
-- The command line of `perigee vtep`, and its configuration file, which has the same.
-- Both end up as the argument of apps.vtep.

local cli = require("lib.cli")
local failure = require("core.failure")
local file = require("program.vtep.file")
local last_good = require("lib.saved.last_good")
local settings = require("apps.vtep.settings")
local shape = require("apps.vtep.shape")

local M = {}

local VLAN_VNI = "^(%d+)=(%d+)$"

--- Converter: "10=42", a VLAN and its VNI.
function M.vlan(text)
  local vlan, vni = text:match(VLAN_VNI)
  if not vlan then
    return nil, ("'%s' isn't a VLAN and its VNI, such as 10=42"):format(text)
  end
  return {vlan = tonumber(vlan), vni = tonumber(vni)}
end

--- Converter: "ADDRESS", "ADDRESS@MAC", with ",VNI" for each VNI it is for.
function M.remote(text)
  local to, rest = text:match("^([^,]+)(.*)$")
  local address, mac = (to or ""):match("^([^@]+)@(.+)$")
  local remote = {address = address or to, mac = mac}
  for vni in (rest or ""):gmatch(",([^,]*)") do
    if not vni:match("^%d+$") then
      return nil, ("'%s': '%s' isn't a VNI; write ADDRESS[@MAC][,VNI]..."):format(text,
        vni)
    end
    remote.vnis = remote.vnis or {}
    table.insert(remote.vnis, tonumber(vni))
  end
  if not remote.address then return nil, "a remote needs an address" end
  return remote
end

--- Converter: "VNI,MAC,REMOTE".
function M.static(text)
  local vni, mac, remote = text:match("^(%d+),([^,]+),([^,]+)$")
  if not vni then
    return nil, ("'%s' isn't an entry such as 42,02:00:00:00:00:05,192.0.2.2")
      :format(text)
  end
  return {vni = tonumber(vni), mac = mac, remote = M.remote(remote)}
end

local function dscp(text)
  if text == "copy" then return text end
  return cli.integer(0, 63)(text)
end

local function switch(text)
  local values = {on = true, off = false}
  local value = values[text]
  if value == nil then return nil, ("'%s' is neither on nor off"):format(text) end
  return value
end

--- The parser of the command line.
function M.parser()
  local p = cli.parser("vtep",
    "A VXLAN tunnel end point (RFC 7348): carries Ethernet frames of the inner port to"
    .. " other end points over the IP network of the outer port, and back.")
  local function option(name, text, argument, converter)
    return p:option(name, text):argname(argument):convert(converter)
  end
  p:option("--inner", "The port of the Ethernet segment."):argname("PORT")
  p:option("--outer", "The port of the underlay."):argname("PORT")
  p:option("--address", "This end's address in the underlay, IPv4 or IPv6, such as"
           .. " 192.0.2.1/24."):argname("ADDRESS/LENGTH")
  p:option("--gateway", "The router to other networks."):argname("ADDRESS")
  p:option("--mac", "This end's MAC address (default: the outer port's).")
    :argname("MAC")
  option("--vni", "The VNI of untagged frames.", "VNI", cli.integer(0, 2^24 - 1))
  option("--vlan", "A VLAN of the inner port and its VNI.", "VLAN=VNI", M.vlan)
    :count("*")
  option("--remote", "Another end point, to flood to; with its MAC address, that"
         .. " isn't asked for; with VNIs, for these only.",
         "ADDRESS[@MAC][,VNI...]", M.remote):count("*")
  option("--static", "Where a MAC address is; never changed or forgotten.",
         "VNI,MAC,REMOTE", M.static):count("*")
  option("--mtu", "The underlay's MTU (default 1500).", "BYTES", cli.integer())
  option("--ttl", "Time to live of outer headers (default 64).", "N", cli.integer())
  option("--dscp", "DSCP of outer headers: 0 to 63, or copy the inner one (default 0).",
         "DSCP", dscp)
  option("--udp-checksum", "Compute UDP's checksum: on or off (default: on over IPv6,"
         .. " off over IPv4).", "on|off", switch)
  option("--port", "UDP port (default 4789).", "N", cli.integer())
  option("--ageing", "Forget learned entries after this time (default 300).", "TIME",
         cli.duration)
  option("--capacity", "Maximum number of forwarding entries (default 16384).", "N",
         cli.count)
  p:flag("--no-learn", "Don't learn where MAC addresses are.")
  p:flag("--strict", "Drop what comes from remotes that aren't named.")
  p:flag("--keep-tags", "Carry VLAN tags as they are, all in one VNI.")
  p:flag("--flood-control", "Carry frames for the neighbour on the wire alone, too:"
         .. " spanning tree, LACP, LLDP.")
  p:flag("--no-ping", "Don't answer echo requests.")
  p:option("--config", "A file with the same: .json, .yaml, or else a Lua table;"
           .. " options take precedence.")
    :argname("FILE")
  option("--report", "Print counters every so often.", "TIME", cli.duration)
  p:option("--json", "At the end, write the counters of each VNI and remote to FILE; -:"
           .. " to standard output, and nothing else."):argname("FILE")
    :convert(cli.output)
  p:option("--state", "Write these and the forwarding table to FILE, at the end and"
           .. " when SIGUSR1 comes."):argname("FILE"):convert(cli.output_file)
  last_good.option(p)
  option("--duration", "Stop after this time: seconds, or 500ms, 2m, 1h.", "TIME",
         cli.duration)
  return p
end

local function merge_vnis(parsed, vnis)
  local function add(vni, vlan)
    if vnis[vni] and vnis[vni] ~= vlan then
      failure.usage("VNI %d has two VLANs, %d and %d (0: untagged)", vni, vnis[vni],
        vlan)
    end
    vnis[vni] = vlan
  end
  if parsed.vni then add(parsed.vni, 0) end
  for _, item in ipairs(parsed.vlan) do add(item.vni, item.vlan) end
  return vnis
end

local PLAIN = {"inner", "outer", "address", "gateway", "mac", "mtu", "ttl", "dscp",
               "udp_checksum", "port", "ageing", "capacity", "report", "duration"}
local LISTS = {remote = "remotes", static = "static"}
local FLAGS = {no_learn = {"learn", false}, strict = {"strict", true},
               keep_tags = {"keep_tags", true}, no_ping = {"ping", false},
               flood_control = {"flood_control", true}}

-- Options that apps.vtep has nothing to do with.
local function check_own(options)
  for _, name in ipairs{"inner", "outer", "address"} do
    if not options[name] then
      failure.usage("name the %s: --%s; see `perigee vtep --help`",
        name == "address" and "tunnel's own address" or name .. " port", name)
    end
  end
  if options.report == 0 then failure.usage("report is a time of more than 0") end
end

-- The argument of apps.vtep is checked before a port is opened, which says what the MAC
-- address is.
local ANY_MAC = "02:00:00:00:00:01"

-- Where the options come from, for a sentence; nil: only from the command line.
local function source(parsed)
  if not parsed.config then return nil end
  local more = parsed.vni or #parsed.vlan + #parsed.remote + #parsed.static > 0
  for _, name in ipairs(PLAIN) do more = more or parsed[name] ~= nil end
  return parsed.config .. (more and " with the command line" or "")
end

--- Raise a sentence if the `options` can't work; `parsed` is where they come from.
function M.check(options, parsed)
  file.within(source(parsed), function ()
    check_own(options)
    settings.check(M.tunnel(options, options.mac or ANY_MAC))
  end)
end

--- Raise a sentence if the options `new` differ from `old` in what apps.vtep has
--- nothing to do with: that can't change while it runs.
function M.check_change(old, new, parsed)
  file.within(source(parsed), function ()
    for name in pairs(file.OWN) do
      if old[name] ~= new[name] then
        failure.usage("%s can't change while it runs (from %s to %s): restart it",
          name, shape.shown(old[name]), shape.shown(new[name]))
      end
    end
  end)
end

--- The argument of apps.vtep that the options have, and this MAC address (text).
function M.tunnel(options, mac)
  local arg = {}
  for name, value in pairs(options) do
    if not file.OWN[name] then arg[name] = value end
  end
  arg.mac = mac
  return arg
end

--- What a command line that names only this configuration file would be parsed to.
function M.only(path)
  return {config = path, vlan = {}, remote = {}, static = {}}
end

--- The argument of apps.vtep, with `inner`, `outer`, `report` and `duration`, from
--- the parsed command line.
function M.options(parsed)
  local options = parsed.config and file.load(parsed.config) or {}
  for _, name in ipairs(PLAIN) do
    if parsed[name] ~= nil then options[name] = parsed[name] end
  end
  for name, to in pairs(LISTS) do
    options[to] = options[to] or {}
    for _, item in ipairs(parsed[name]) do table.insert(options[to], item) end
  end
  for name, set in pairs(FLAGS) do
    if parsed[name] then options[set[1]] = set[2] end
  end
  options.vnis = merge_vnis(parsed, options.vnis or {})
  return options
end

return M
