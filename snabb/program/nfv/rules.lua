-- SPDX-License-Identifier: Apache-2.0
-- Security groups of OpenStack as packet filters (pcap-filter(7)). A rule is a table of
-- strings: direction, ethertype, protocol, port_range_min, port_range_max,
-- remote_ip_prefix. Pure.

local failure = require("core.failure")

local rules = {}

local FAMILIES = {ipv4 = "ip", ipv6 = "ip6"}
local NUMBERS = {["1"] = "icmp", ["6"] = "tcp", ["17"] = "udp", ["58"] = "icmp",
  icmpv6 = "icmp", ["ipv6-icmp"] = "icmp"}
local ANY = {any = true, ["0"] = true, ["-1"] = true}
local REMOTE = {ingress = "src", egress = "dst"}

-- Join the parts, with parentheses if there are several.
local function join(parts, word)
  if #parts == 1 then return parts[1] end
  return "(" .. table.concat(parts, " " .. word .. " ") .. ")"
end

local MOST_PORT, MOST_BYTE = 65535, 255

-- The number in the rule's column, up to `most`; nil: it has none.
local function number(rule, column, most)
  local text = rule[column]
  if not text then return nil end
  local n = text:match("^%d+$") and tonumber(text)
  if not n or n > most then
    failure.usage("the %s '%s' of a security group's rule is no number from 0 to %d",
      column, text, most)
  end
  return n
end

-- ICMP's type and code, which rules have in the place of ports.
local function icmp(parts, family, rule)
  local at = family == "ip" and "icmp[%d] = %d" or "ip6[%d] = %d"
  local first = family == "ip" and 0 or 40 -- behind IPv6's header
  local kind = number(rule, "port_range_min", MOST_BYTE)
  local code = number(rule, "port_range_max", MOST_BYTE)
  if kind then parts[#parts + 1] = at:format(first, kind) end
  if code then parts[#parts + 1] = at:format(first + 1, code) end
end

local function ports(parts, rule)
  local min = number(rule, "port_range_min", MOST_PORT)
  local max = number(rule, "port_range_max", MOST_PORT)
  if min or max then
    parts[#parts + 1] = ("dst portrange %d-%d"):format(min or max, max or min)
  end
end

local function protocol(parts, family, rule)
  local name = rule.protocol
  name = NUMBERS[name] or name
  if name == "icmp" then
    parts[#parts + 1] = family == "ip" and "icmp" or "icmp6"
    return icmp(parts, family, rule)
  elseif name == "tcp" or name == "udp" then
    parts[#parts + 1] = name
  elseif name and name:match("^%d+$") and not ANY[name] then
    parts[#parts + 1] = ("%s proto %s"):format(family, name)
    return
  elseif name and not ANY[name] then
    failure.usage("the protocol '%s' of a security group's rule isn't known; it is "
      .. "tcp, udp, icmp, or a number", name)
  end
  ports(parts, rule)
end

--- The filter for one rule.
function rules.filter(rule)
  local family = FAMILIES[rule.ethertype]
  if not family then
    failure.usage("the ethertype '%s' of a security group's rule isn't known; it is "
      .. "IPv4 or IPv6", tostring(rule.ethertype))
  end
  local parts = {family}
  protocol(parts, family, rule)
  if rule.remote_ip_prefix then
    parts[#parts + 1] = ("%s net %s"):format(REMOTE[rule.direction],
      rule.remote_ip_prefix)
  end
  local filter = join(parts, "and")
  return family == "ip" and "(arp or " .. filter .. ")" or filter
end

local function lower(rule)
  local copy = {}
  for key, value in pairs(rule) do copy[key] = value:lower() end
  return copy
end

--- The filter that accepts what any rule of that direction ("ingress", "egress") does;
--- nil if none has it.
function rules.filters(list, direction)
  local filters = {}
  for _, rule in ipairs(list) do
    rule = lower(rule)
    if rule.direction == direction then filters[#filters + 1] = rules.filter(rule) end
  end
  return #filters > 0 and join(filters, "or") or nil
end

return rules
