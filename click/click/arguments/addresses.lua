-- SPDX-License-Identifier: Apache-2.0
-- Types of arguments that are addresses and ports, as numbers says: parsers from the
-- text, the specification and the element, whose compound may have names for addresses.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local bit = require("bit")
local numbers = require("click.arguments.numbers")

local addresses = {}

-- What a name of that kind stands for where the element is (click.names), or nil;
-- `defined`: not what an interface of the host has.
local function named(kind, element, name, defined)
  local known = element and element.router and element.router.names
  if not known then return nil end
  if defined then return known:defined(kind, element.name, name) end
  return known:find(kind, element.name, name)
end

-- IP version 4, in host order ------------------------------------------------------

-- The number that "1.2.3" begins, and of how many bytes: up to four.
local function quad(text)
  local value, n = 0, 0
  if not text:find("^%d+[%d.]*$") or text:find("%.$") or text:find("..", 1, true) then
    return nil
  end
  for part in text:gmatch("%d+") do
    if #part > 3 or tonumber(part) > 255 or n == 4 then return nil end
    value, n = value * 256 + tonumber(part), n + 1
  end
  return value * 256 ^ (4 - n), n
end

local function mask_of(length)
  return length == 0 and 0 or 2 ^ 32 - 2 ^ (32 - length)
end

local function length_of(mask)
  for length = 0, 32 do
    if mask_of(length) == mask then return length end
  end
end

local function band(a, b) return bit.band(a, b) % 2 ^ 32 end

local function prefix(address, mask)
  return {address = address, mask = mask, length = length_of(mask)}
end

-- A name and what it is to be of: "eth0:gw" are "eth0" and "gw".
local function split_suffix(text)
  local name, suffix = text:match("^(.*):([^:]*)$")
  return name or text, suffix and suffix:lower()
end

local function named_prefix(text, element)
  local name, suffix = split_suffix(text)
  if suffix and suffix ~= "net" and suffix ~= "ipnet" and suffix ~= "ip4net" then
    return nil
  end
  return named("ip_prefix", element, name)
end

local function broadcast(net)
  return net and bit.bor(net.address, bit.bnot(net.mask)) % 2 ^ 32
end

local function first_of(net)
  return net and bit.bor(band(net.address, net.mask), 1) % 2 ^ 32
end

-- The gateway of "NAME:gw": as defined, or the first address of the prefix that is
-- defined for NAME; then the interface's, or the first of its prefix.
local function gateway(text, name, element)
  return named("ip", element, text, true)
    or first_of(named("ip_prefix", element, name, true))
    or named("ip", element, text) or first_of(named("ip_prefix", element, name))
end

local function named_ip(text, element)
  local name, suffix = split_suffix(text)
  if not suffix or suffix == "ip" or suffix == "ip4" then
    return named("ip", element, name)
  elseif suffix == "bcast" then
    return broadcast(named("ip_prefix", element, name))
  elseif suffix == "gw" then
    return gateway(text, name, element)
  end
end

--- An IP address, as a number in host order: 10.0.0.1, or a name.
function addresses.ip(text, _, element)
  local value, n = quad(text)
  if n == 4 then return value end
  return named_ip(text, element)
end

local function mask_from(text, element)
  local length = text:find("^%d+$") and tonumber(text)
  if length then return length <= 32 and mask_of(length) or nil end
  return addresses.ip(text, nil, element)
end

--- An IP prefix, {address=, mask=, length=} in host order (length is nil if the
--- mask has holes): 10.0.0.1/8, 10/8, 10.0.0.0/255.0.0.0, or a name. With `spec.bare`,
--- also an address alone.
function addresses.ip_prefix(text, spec, element)
  local left, right = text:match("^(.+)/([^/]+)$")
  if left then
    local value, n = quad(left)
    if not value then value, n = named_ip(left, element), 4 end
    local mask = value and mask_from(right, element)
    -- A mask of more bits than were written is a mistake.
    if mask and band(mask, mask_of(n * 8)) == mask then return prefix(value, mask) end
  end
  local bare = spec.bare and addresses.ip(text, spec, element)
  if bare then return prefix(bare, mask_of(32)) end
  return named_prefix(text, element)
end

-- IP version 6, as 16 bytes --------------------------------------------------------

local function group_bytes(text, list)
  if text == "" then return true end
  for group in (text .. ":"):gmatch("([^:]*):") do
    if not group:find("^%x%x?%x?%x?$") then return false end
    local value = tonumber(group, 16)
    list[#list + 1] = string.char(math.floor(value / 256), value % 256)
  end
  return true
end

-- "::1.2.3.4" as "::102:304".
local function without_quad(text)
  local front, last = text:match("^(.*:)(%d+%.[%d.]+)$")
  if not front then return text end
  local value, n = quad(last)
  if n ~= 4 then return nil end
  return ("%s%x:%x"):format(front, math.floor(value / 65536), value % 65536)
end

--- An IPv6 address, as 16 bytes: 2001:db8::1, ::ffff:10.0.0.1, or a name.
function addresses.ip6(text, _, element)
  local plain = without_quad(text)
  local front, back = (plain or ""):match("^(.-)::(.*)$")
  local left, right = {}, {}
  if plain and group_bytes(front or plain, left) and group_bytes(back or "", right) then
    local n = #left + #right
    if front and n < 8 or not front and n == 8 then
      return table.concat(left) .. ("\0\0"):rep(8 - n) .. table.concat(right)
    end
  end
  local name, suffix = split_suffix(text)
  return (not suffix or suffix == "ip6") and named("ip6", element, name) or nil
end

-- How many bits of the 16 bytes are set in front; nil if others are set behind them.
local function mask_length(mask)
  local length = 0
  for i = 1, #mask do
    local byte = mask:byte(i)
    local bits = 8
    while bits > 0 and byte ~= 256 - 2 ^ (8 - bits) do bits = bits - 1 end
    if byte ~= 256 - 2 ^ (8 - bits) or bits > 0 and length < 8 * (i - 1) then
      return nil
    end
    length = length + bits
  end
  return length
end

-- "32", or a mask: "ffff:ffff::".
local function ip6_length(text, element)
  local length = numbers.int(text, {min = 0, max = 128})
  if length then return length end
  local mask = addresses.ip6(text, nil, element)
  return mask and mask_length(mask)
end

--- An IPv6 prefix, {address= (16 bytes), length=}: 2001:db8::/32, or with a mask,
--- 2001:db8::/ffff:ffff::, or a name. With `spec.bare`, also an address alone.
function addresses.ip6_prefix(text, spec, element)
  local left, right = text:match("^(.+)/([^/]+)$")
  local address = left and addresses.ip6(left, spec, element)
  if address then
    local length = ip6_length(right, element)
    return length and {address = address, length = length}
  end
  address = spec.bare and addresses.ip6(text, spec, element)
  if address then return {address = address, length = 128} end
  local name, suffix = split_suffix(text)
  return (not suffix or suffix == "ip6net") and named("ip6_prefix", element, name)
    or nil
end

--- Has the IPv6 prefix `net` bits behind its length?
function addresses.has_host_bits(net)
  local whole = math.floor(net.length / 8)
  local rest = net.address:byte(whole + 1)
  return rest ~= nil and (rest % 2 ^ (8 - net.length % 8) ~= 0
    or net.address:find("[^%z]", whole + 2) ~= nil)
end

-- Others ---------------------------------------------------------------------------

local ETHERNET = {":", "-"}
local ETH_SUFFIXES = {eth = true, ether = true, ethernet = true}

--- An Ethernet address, as 6 bytes: 00:1:2a:3:4:5 or 00-01-2a-03-04-05, or a name.
function addresses.eth(text, _, element)
  for _, separator in ipairs(ETHERNET) do
    local bytes = {}
    for part in (text .. separator):gmatch("(.-)%" .. separator) do
      local byte = part:find("^%x%x?$") and tonumber(part, 16)
      if byte then table.insert(bytes, string.char(byte)) else bytes.bad = true end
    end
    if #bytes == 6 and not bytes.bad then return table.concat(bytes) end
  end
  local name, suffix = split_suffix(text)
  if not suffix or ETH_SUFFIXES[suffix] then return named("eth", element, name) end
end

local services -- [PROTOCOL][NAME] = port, from /etc/services

local function read_services()
  services = {tcp = {}, udp = {}, sctp = {}, dccp = {}}
  local file = io.open("/etc/services")
  if not file then return end
  for line in file:lines() do
    local name, port, protocol, aliases =
      line:gsub("#.*", ""):match("^(%S+)%s+(%d+)/(%w+)(.*)$")
    local list = protocol and services[protocol]
    if list then
      list[name] = list[name] or tonumber(port)
      for alias in aliases:gmatch("%S+") do
        list[alias] = list[alias] or tonumber(port)
      end
    end
  end
  file:close()
end

--- A port number, or the name of a service of `spec.protocol` (tcp, or "udp"...).
function addresses.ip_port(text, spec, element)
  local value = named("port", element, text) or numbers.count(text, {})
  if not value then
    if not services then read_services() end
    value = services[spec.protocol or "tcp"][text]
  end
  if value and value > 65535 then return nil, "overflow, range 0-65535" end
  return value
end

return addresses
