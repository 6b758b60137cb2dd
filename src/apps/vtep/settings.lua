-- SPDX-License-Identifier: Apache-2.0
-- What a user may say of a tunnel end point, checked: a table of plain values in, a
-- table with addresses as bytes out, or a sentence. Nothing here touches a packet.

local bit = require("bit")
local addresses = require("net.address.address")
local arguments = require("core.lib.arguments")
local config = require("core.config")
local failure = require("core.failure")
local shape = require("apps.vtep.shape")

local settings = {}

local shown = shape.shown
local BITS = addresses.BITS
local OVERHEAD = {[4] = 36, [6] = 56} -- outer IP to VXLAN: what adds to an IP packet
local SMALLEST_MTU = {[4] = 576, [6] = 1280} -- RFC 1122, RFC 8200
local DEFAULTS = {
  mtu = 1500, ttl = 64, port = 4789, ageing = 300, capacity = 16384, max_remotes = 1024,
  learn = true, strict = false, ping = true, keep_tags = false, flood_control = false,
  dscp = 0,
}
local RANGES = {
  mtu = {576, 10226}, ttl = {1, 255}, port = {1, 65535}, ageing = {1, 1000000},
  capacity = {1, 2^20}, max_remotes = {1, 32767},
}

local function host_address(text, what, family)
  local bytes, of = addresses.ip(text)
  if not bytes or not addresses.is_unicast(bytes) then
    failure.usage("%s %s isn't the IP address of a host", what, shown(text))
  elseif family and of ~= family then
    failure.usage("%s %s is IPv%d, but the tunnel's own address is IPv%d", what, text,
      of, family)
  end
  return bytes, of
end

local function own_address(s, arg)
  local text, length = (arg.address or ""):match("^(.-)/(%d+)$")
  if not text then
    failure.usage("the tunnel's address is %s; write it with the length of its "
      .. "network's prefix, such as 192.0.2.1/24", shown(arg.address))
  end
  s.address, s.family = host_address(text, "the tunnel's address")
  s.prefix = arguments.whole("a prefix length", tonumber(length), 1, BITS[s.family])
end

--- Do the first `prefix` bits of two addresses agree?
function settings.same_network(one, other, prefix)
  local bytes, rest = math.floor(prefix / 8), prefix % 8
  if one:sub(1, bytes) ~= other:sub(1, bytes) then return false end
  if rest == 0 then return true end
  local differing = bit.bxor(one:byte(bytes + 1), other:byte(bytes + 1))
  return bit.rshift(differing, 8 - rest) == 0
end

--- The broadcast address (4 bytes) of the network of IPv4 settings, or that of all.
function settings.broadcast(s)
  if s.family ~= 4 or s.prefix > 30 then return ("\255"):rep(4) end -- RFC 3021
  local bytes, left = {s.address:byte(1, 4)}, s.prefix
  for i = 1, 4 do
    bytes[i] = bit.bor(bytes[i], bit.rshift(255, math.max(0, math.min(8, left))))
    left = left - 8
  end
  return string.char(unpack(bytes))
end

-- VNIs as an array of {vni =, vlan =}; and which there are.
local function networks(s, vnis)
  local by_vlan, by_vni = {}, {}
  for _, vni in ipairs(config.sorted_keys(vnis or {})) do
    local vlan = vnis[vni]
    arguments.whole("a VNI", vni, 0, 2^24 - 1)
    arguments.whole(("the VLAN of VNI %d (0: untagged)"):format(vni), vlan, 0, 4094)
    if by_vlan[vlan] then
      failure.usage("VNIs %d and %d both have %s of the inner port", by_vlan[vlan], vni,
        vlan == 0 and "the untagged frames" or "VLAN " .. vlan)
    end
    by_vlan[vlan], by_vni[vni] = vni, true
    table.insert(s.vnis, {vni = vni, vlan = vlan})
  end
  if #s.vnis == 0 then failure.usage("a tunnel end point needs a VNI, such as 42") end
  if s.keep_tags and (#s.vnis > 1 or s.vnis[1].vlan ~= 0) then
    failure.usage("keep_tags carries all frames, tagged or not, in one VNI without "
      .. "a VLAN; there are others")
  end
  s.has_vni = by_vni
end

local function known_vni(s, vni, what)
  if not s.has_vni[vni] then
    failure.usage("%s names VNI %s, which the tunnel doesn't have", what, vni)
  end
  return vni
end

local function remote(s, item)
  if type(item) ~= "table" then item = {address = item} end
  local what = "remote"
  local r = {address = host_address(item.address, what, s.family)}
  if r.address == s.address then
    failure.usage("remote %s is the tunnel's own address", item.address)
  end
  r.mac = item.mac and addresses.station(item.mac, "the remote's MAC address")
  if not r.mac and not s.gateway
      and not settings.same_network(r.address, s.address, s.prefix) then
    failure.usage("remote %s isn't in the network of the tunnel's address: name a "
      .. "gateway, or the MAC address to send to", item.address)
  end
  if item.vnis then
    r.vnis = {}
    for _, vni in ipairs(item.vnis) do
      r.vnis[known_vni(s, vni, ("remote %s"):format(item.address))] = true
    end
  end
  return r
end

local function simple_values(s, arg)
  for key, default in pairs(DEFAULTS) do
    s[key] = default
    if arg[key] ~= nil then s[key] = arg[key] end
    if RANGES[key] then arguments.whole(key, s[key], unpack(RANGES[key])) end
  end
  if s.dscp ~= "copy" then arguments.whole("dscp (or \"copy\")", s.dscp, 0, 63) end
end

--- The checked settings. `arg` is described in the README; `mac` must be in it.
function settings.check(arg)
  shape.check(arg)
  local s = {vnis = {}, remotes = {}, statics = {}}
  simple_values(s, arg)
  own_address(s, arg)
  s.mac = addresses.station(arg.mac, "the tunnel's MAC address")
  s.address_text, s.mac_text = addresses.text(s.address), addresses.text(s.mac)
  if s.mtu < SMALLEST_MTU[s.family] then
    failure.usage("an MTU of %d is less than IPv%d allows: %d", s.mtu, s.family,
      SMALLEST_MTU[s.family])
  end
  s.max_inner = s.mtu - OVERHEAD[s.family]
  s.udp_checksum = s.family == 6 -- RFC 7348, section 5; RFC 8200, section 8.1
  if arg.udp_checksum ~= nil then s.udp_checksum = arg.udp_checksum end
  if arg.gateway then
    s.gateway = host_address(arg.gateway, "gateway", s.family)
    s.gateway_text = addresses.text(s.gateway)
    if not settings.same_network(s.gateway, s.address, s.prefix) then
      failure.usage("gateway %s isn't in the network of %s", arg.gateway, arg.address)
    end
  end
  networks(s, arg.vnis)
  for _, item in ipairs(arg.remotes or {}) do
    table.insert(s.remotes, remote(s, item))
  end
  for _, item in ipairs(arg.static or {}) do
    table.insert(s.statics, {
      vni = known_vni(s, item.vni, "a static entry"),
      mac = addresses.station(item.mac, "the static entry's"),
      remote = remote(s, item.remote),
    })
  end
  if #s.statics > s.capacity then
    failure.usage("there are %d static entries, and room for %d (capacity)",
      #s.statics, s.capacity)
  elseif #s.remotes + #s.statics > s.max_remotes then
    failure.usage("there are %d remotes, and room for %d (max_remotes)",
      #s.remotes + #s.statics, s.max_remotes)
  end
  return s
end

--- Settings that can change while a tunnel is there.
settings.CHANGEABLE = {"vnis", "has_vni", "remotes", "statics", "ageing", "learn",
                       "strict", "ping"}
local FIXED = {"address_text", "prefix", "mac_text", "gateway_text", "mtu", "ttl",
               "dscp", "port", "udp_checksum", "capacity", "max_remotes", "keep_tags",
               "flood_control"}

--- Raise a sentence if the settings `new` differ from `old` in what can't change.
function settings.check_change(old, new)
  for _, name in ipairs(FIXED) do
    if old[name] ~= new[name] then
      failure.usage("%s can't change while it runs (from %s to %s): restart it",
        (name:gsub("_text$", "")), shown(old[name]), shown(new[name]))
    end
  end
end

--- Let the settings `to` be those of `from`, in what can change.
function settings.replace(to, from)
  for _, name in ipairs(settings.CHANGEABLE) do to[name] = from[name] end
end

return settings
