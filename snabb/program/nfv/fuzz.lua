-- SPDX-License-Identifier: Apache-2.0
-- `perigee nfv fuzz SPEC OUTPUT`: a random configuration of two ports, A and B, between
-- which IPv6 with TCP and ICMPv6 passes.

local cli = require("lib.cli")
local document = require("lib.document.document")
local failure = require("core.failure")
local lib = require("core.lib")
local spelling = require("core.lib.spelling")
local sandbox = require("program.nfv.sandbox")
local values = require("program.nfv.values")

local fuzz = {}

local random = math.random

-- What a specification may have, and the type of it.
local KEYS = {ingress_filter = "number", egress_filter = "number", tunnel = "boolean",
  crypto = "boolean", rx_police = "number", tx_police = "number"}
local MOST_RULES, MOST_GBPS = 100, 1000

local ADDRESSES = {"fe80:0:0:0:5054:ff:fe00:0", "fe80:0:0:0:5054:ff:fe00:1"}
local NETS = {
  ip = {"109.0.0.0/8", "109.145.0.0/16", "109.145.29.0/24"},
  ip6 = {"cb51::/16", "cb51:b2e7::/32", "cb51:b2e7:9711:c0d3::/64",
    "cb51:b2e7:9711:c0d3:14ba:a93e::/96"},
}

local function one_of(list) return list[random(#list)] end

local function hexadecimal(bytes)
  local digits = {}
  for i = 1, bytes do digits[i] = ("%02x"):format(random(0, 255)) end
  return table.concat(digits)
end

local function port_range()
  local first = random(1024, 65535)
  return ("%d-%d"):format(first, random(first, 65535))
end

local function rule()
  local family = one_of{"ip", "ip6"}
  return ("(%s and %s and src net %s and dst net %s and src portrange %s and "
    .. "dst portrange %s)"):format(family, one_of{"udp", "tcp"}, one_of(NETS[family]),
    one_of(NETS[family]), port_range(), port_range())
end

local function filter(rules)
  local parts = {"(ip6 and tcp)", "icmp6"}
  for _ = 1, rules do parts[#parts + 1] = rule() end
  return table.concat(parts, " or ")
end

local function tunnels()
  local cookies, list = {hexadecimal(8), hexadecimal(8)}, {}
  for i = 1, 2 do
    local other = 3 - i
    list[i] = {type = "L2TPv3", local_cookie = cookies[i],
      remote_cookie = cookies[other],
      local_ip = ADDRESSES[i], remote_ip = ADDRESSES[other],
        next_hop = ADDRESSES[other],
      session = random(0, 2 ^ 31 - 1) * 2 + random(0, 1)}
  end
  return list
end

local function cryptos()
  local key, salt, list = {hexadecimal(16), hexadecimal(16)},
    {"00" .. hexadecimal(3), "01" .. hexadecimal(3)}, {}
  local spi = random(256, 2 ^ 31)
  for i = 1, 2 do
    local other = 3 - i
    list[i] = {type = "esp-aes-128-gcm", spi = spi, transmit_key = key[i],
      transmit_salt = salt[i], receive_key = key[other], receive_salt = salt[other]}
  end
  return list
end

--- The ports of a random configuration for the specification, a table.
function fuzz.ports(spec)
  local vlan, ports = random(0, 4094), {}
  local tunnel, crypto = spec.tunnel and tunnels(), spec.crypto and cryptos()
  for i, id in ipairs{"A", "B"} do
    ports[i] = {port_id = id, vlan = vlan, mac_address = "52:54:00:00:00:0" .. i - 1,
      tunnel = tunnel and tunnel[i], crypto = crypto and crypto[i]}
    for _, key in ipairs{"ingress_filter", "egress_filter"} do
      ports[i][key] = spec[key] and filter(spec[key])
    end
    for _, key in ipairs{"rx_police", "tx_police"} do
      ports[i][key] = spec[key] and random(1, spec[key])
    end
  end
  return ports
end

-- The table that the file at `path` has.
local function read_spec(path)
  local spec = sandbox.value(path, document.text(path))
  if type(spec) ~= "table" then
    failure.usage("%s: it returns %s, not a table such as {ingress_filter = 2}", path,
      values.shown(spec))
  end
  for key, value in values.sorted(spec) do
    local known = values.keys(KEYS)
    if not KEYS[key] then
      failure.usage("%s: there is no key %s%s; there are %s", path, values.shown(key),
        spelling.hint(tostring(key), known), table.concat(known, ", "))
    elseif type(value) ~= KEYS[key] then
      failure.usage("%s: %s is a %s, not %s", path, key, KEYS[key], values.shown(value))
    end
    local least, most = 0, MOST_RULES
    if key:match("police$") then least, most = 1, MOST_GBPS end
    if KEYS[key] == "number" and not (value % 1 == 0 and value >= least
        and value <= most) then
      failure.usage("%s: %s is a whole number from %d to %d, not %s", path, key, least,
        most, tostring(value))
    end
  end
  return spec
end

--- Run the command; `args` as in its usage.
function fuzz.run(args)
  local p = cli.parser("nfv fuzz",
    "Write a random configuration of two ports, A and B, "
    .. "between which IPv6 with TCP and ICMPv6 passes.")
  p:argument("spec", "a Lua file that returns a table with any of: ingress_filter and "
    .. "egress_filter (how many rules), tunnel and crypto (true), rx_police and "
    .. "tx_police (at most so many Gbit/s)")
  p:argument("output", "the configuration to write")
  p:option("--seed", "Always the same configuration for the same number.")
    :argname("NUMBER"):convert(cli.integer(0))
  local options = cli.parse(p, args)
  local spec = read_spec(options.spec)
  if options.seed then lib.randomseed(options.seed) end
  lib.store_conf(options.output, fuzz.ports(spec))
end

return fuzz
