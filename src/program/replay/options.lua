-- SPDX-License-Identifier: Apache-2.0
-- The command line of `perigee replay`.

local cli = require("lib.cli")
local failure = require("core.failure")
local maps = require("apps.rewrite.maps")
local rates = require("lib.traffic.rate")
local run_report = require("lib.observe.run_report")
local sides = require("apps.pcap.sides")

local M = {}

--- Converter of a rate: 1.5Mpps, 100kpps (packets a second), 10Gbps (bits a second
--- on the wire). Returns {packet_rate = 1.5e6} or {bit_rate = 1e10}.
function M.rate(text)
  local rate, problem = rates.parse(text)
  if not rate then return nil, problem end
  return {packet_rate = rate.packets, bit_rate = rate.bits}
end

-- Converter: what the file of Lua returns, a function.
local function edit(path)
  local chunk, problem = loadfile(path)
  if not chunk then return nil, problem end
  local ok, result = pcall(chunk)
  if not ok then return nil, tostring(result) end
  if type(result) ~= "function" then
    return nil, ("%s returns %s, not a function of a packet: let it end with `return "
      .. "function (p) ... end`"):format(path, type(result))
  end
  return result
end

local function add_timing(p)
  p:mutex(
    p:option("--rate", "Send at this rate: 1.5Mpps, 100kpps, or 10Gbps (bits on the"
             .. " wire: with preamble, gap and frame check).")
      :argname("RATE"):convert(M.rate),
    p:option("--speed", "Send this many times as fast as recorded (default 1).")
      :argname("FACTOR"):convert(cli.positive_number),
    p:flag("--topspeed", "Send as fast as the port takes them."))
  p:flag("--busy-wait", "Use a CPU fully, rather than sleep until shortly before a"
         .. " packet is due.")
  p:option("--loop", "Go through the file N times; 0: until stopped (default 1).")
    :argname("N"):convert(cli.count)
end

local function add_rewriting(p)
  local function several(name, argname, text, convert)
    p:option(name, text .. " May be given several times."):argname(argname):count("*")
      :convert(convert)
  end
  several("--map-ip", "A/n:B/m", "Addresses of A/n become such of B/m, as with "
    .. "tcprewrite's --pnat; IPv6 in brackets.", maps.ip)
  several("--map-mac", "A=B", "Ethernet address A becomes B.", maps.mac)
  several("--map-port", "A:B", "Port A of TCP, UDP and SCTP becomes B; A and B may be "
    .. "ranges.", maps.port)
  p:option("--vlan", "The VLAN tag: strip, add:VLAN[:PRIORITY], replace:VLAN or "
    .. "replace:VLAN:VLAN."):argname("HOW"):convert(maps.vlan)
  p:option("--edit", "Call the function that this Lua file returns with each packet.")
    :argname("FILE.lua"):convert(edit)
  p:flag("--fix-checksums", "Recompute the checksums of IP, TCP, UDP and ICMP.")
end

-- Converter: a file's name, or "-".
local function file(name) return name == "-" and "/dev/stdin" or name end

local function parser()
  local p = cli.parser("replay",
    "Send the packets of a pcap or pcapng file to a port: at the speed they were"
    .. " recorded at, at a rate, or as fast as possible. With a second port, what"
    .. " clients have sent to the first, and what servers have to the second.")
  p:argument("file", "A pcap or pcapng file, plain or compressed (gzip, zstd); -: "
    .. "standard input."):convert(file)
  p:argument("port", "A port, such as packet:veth0; `perigee ports` lists them.")
  p:argument("port2", "A second port, for what servers have sent."):args("?")
  add_timing(p)
  cli.count_option(p, "Send at most N packets.", "--limit")
  cli.duration_option(p)
  add_rewriting(p)
  p:option("--sides", "With two ports, who is a server: syn (default: who hasn't "
    .. "begun), port (the lower one), ip=NETWORK,... or mac=ADDRESS,...")
    :argname("HOW"):convert(sides.check)
  run_report.option(p)
  return p
end

local function flat(lists)
  local all = {}
  for _, list in ipairs(lists) do
    for _, item in ipairs(list) do all[#all + 1] = item end
  end
  return #all > 0 and all or nil
end

-- The argument of a Rewriter, or nil if nothing is to be changed.
local function rewrite(options)
  local arg = {map_ip = flat(options.map_ip), map_mac = flat(options.map_mac),
    map_port = flat(options.map_port), edit = options.edit,
    fix_checksums = options.fix_checksums, vlan = options.vlan and {options.vlan}}
  return next(arg) and arg or nil
end

--- The options that `args` mean. `rewrite`: the argument of a Rewriter, or nil.
function M.parse(args)
  local options = cli.parse(parser(), args)
  options.rewrite = rewrite(options)
  if options.sides and not options.port2 then
    failure.usage("--sides is for two ports, and there is only %s; see `perigee replay "
      .. "--help`", options.port)
  end
  return options
end

return M
