-- SPDX-License-Identifier: Apache-2.0
-- What is to be changed into what, as users write it: each function returns a list, or
-- nil and what is wrong. Commas separate several.

local addresses = require("net.address.address")

local maps = {}

local TAG_MOST, PORT_MOST, PRIORITY_MOST = 4094, 65535, 7

-- Of "A/n" or "A", with or without brackets: {bytes, length, version}, or nil.
local function prefix(text)
  local bytes, length, version = addresses.prefix(text:match("^%[(.*)%]$") or text)
  return bytes and {bytes = bytes, length = length, version = version}
end

-- The two sides of a colon that isn't an IPv6 address's own.
local function sides(text)
  local from, to = text:match("^(%[[^%]]*%]):(.+)$")
  if not from then from, to = text:match("^(.-/%d+):(.+)$") end
  if not from then from, to = text:match("^([%d.]+):(.+)$") end
  return from, to
end

local function each(text, what, one)
  local list = {}
  for item in (text .. ","):gmatch("([^,]*),") do
    local value, problem = one(item)
    if not value then
      return nil, ("'%s' isn't %s%s"):format(item, what,
        problem and ": " .. problem or "")
    end
    list[#list + 1] = value
  end
  return list
end

--- Addresses: "10.0.0.0/8:172.16.0.0/12", "[2001:db8::/32]:[fd00::/32]".
function maps.ip(text)
  return each(text, "two networks such as 10.0.0.0/24:192.0.2.0/24 or "
    .. "[2001:db8::/64]:[fd00::/64]", function (item)
    local from, to = sides(item)
    from, to = prefix(from or ""), prefix(to or "")
    if not from or not to then return nil end
    if from.version ~= to.version then return nil, "one is IPv4, the other IPv6" end
    return {from = from, to = to}
  end)
end

--- Ethernet addresses: "02:00:00:00:00:01:02:00:00:00:00:02"; "=" may be in the middle.
function maps.mac(text)
  return each(text, "two Ethernet addresses such as "
    .. "02:00:00:00:00:01=02:00:00:00:00:02", function (item)
    local from, to = item:match("^(.................)[:=](.*)$")
    from, to = addresses.mac(from or ""), addresses.mac(to or "")
    return from and to and {from = from, to = to}
  end)
end

local function ports(text)
  local first, last = text:match("^(%d+)%-(%d+)$")
  first = tonumber(first or text:match("^%d+$"))
  last = tonumber(last) or first
  if first and first <= last and last <= PORT_MOST then return first, last end
end

--- Ports of TCP, UDP and SCTP: "80:8080", "1000-1999:3000-3999", "8000-8020:80".
function maps.port(text)
  return each(text, "ports such as 80:8080, 1000-1999:3000-3999 or 8000-8020:80",
    function (item)
      local from, to = item:match("^(.-):(.*)$")
      local first, last = ports(from or "")
      local to_first, to_last = ports(to or "")
      if not first or not to_first then return nil end
      if to_first ~= to_last and to_last - to_first ~= last - first then
        return nil, "the two ranges have other lengths"
      end
      return {first = first, last = last, to = to_first,
              step = to_first < to_last and 1 or 0}
    end)
end

local function tag(text, most)
  local n = tonumber(text and text:match("^%d+$"))
  return n and n <= (most or TAG_MOST) and n or nil
end

--- A VLAN tag: "strip", "add:VLAN[:PRIORITY]", "replace:VLAN", "replace:VLAN:VLAN".
function maps.vlan(text)
  if text == "strip" then return {strip = true} end
  local what, a, b = text:match("^(%a+):(%d+):?(%d*)$")
  b = b ~= "" and b or nil
  local one, two = tag(a), tag(b, what == "add" and PRIORITY_MOST or nil)
  if one and (two or not b) then
    if what == "add" then return {add = one, priority = two or 0} end
    if what == "replace" and b then return {from = one, to = two} end
    if what == "replace" then return {to = one} end
  end
  return nil, ("'%s' isn't strip, add:100, add:100:PRIORITY, replace:100 (any tag's "
    .. "VLAN) or replace:5:100; VLANs are 0 to 4094"):format(text)
end

return maps
