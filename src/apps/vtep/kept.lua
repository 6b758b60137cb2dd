-- SPDX-License-Identifier: Apache-2.0
-- What of a tunnel end point outlives the process (net.keep): what it has learned, and
-- the Ethernet addresses of next hops.

local addresses = require("lib.addresses")
local engine = require("core.app")
local fdb_kept = require("net.fdb.kept")
local neighbor_kept = require("net.neighbor.kept")
local names = require("net.keep.names")

local REMOTE, VNI = 1, 2 -- kinds of names
local MILLISECONDS = 1000

-- The names of what there is now, and of what there will be.
local function name_all(tunnel)
  local remotes, vnis = tunnel.remotes, tunnel.vnis
  local list = names.new(remotes.last + vnis.most)
  for n, address in pairs(remotes.address) do list:set(REMOTE, n, address) end
  for vni, n in pairs(vnis.number) do list:set(VNI, n, ("%d"):format(vni)) end
  remotes.named = function (n, address)
    if address then list:set(REMOTE, n, address) else list:clear(REMOTE, n) end
  end
  vnis.named = function (n, vni)
    if vni then list:set(VNI, n, ("%d"):format(vni)) else list:clear(VNI, n) end
  end
  return list
end

-- The number that the remote of a former number has now, which may be new.
local function remote_now(tunnel, list, number)
  local s, address = tunnel.settings, list:former(REMOTE, number)
  if not address then return nil, "of a remote without an address" end
  if #address ~= #s.address or not addresses.is_unicast(address)
    or address == s.address then
    return nil, "of a remote that can't be one"
  end
  local n = tunnel.remotes.number[address]
    or not s.strict and tunnel.remotes:add(address)
  if not n then return nil, "of a remote that isn't one now" end
  return n
end

local function segment_now(tunnel, list, number)
  local vni = tonumber(list:former(VNI, number))
  local n = vni and tunnel.vnis.number[vni]
  if not n then return nil, "of a VNI that is gone" end
  return n
end

-- Learned remotes that no entry leads to go.
local function let_go_of_unused(remotes)
  for n, uses in pairs(remotes.uses) do
    if remotes.address[n] and uses == 0 then remotes:use(n, 0) end
  end
end

--- Items for net.keep of the Host `host`.
return function (host)
  local tunnel = host.tunnel
  local list = name_all(tunnel)
  tunnel.fdb:set_now(math.floor(engine.now()) + 1)
  local entries = fdb_kept.item(tunnel.fdb, {
    of = "forwarding entries",
    port = function (number) return remote_now(tunnel, list, number) end,
    segment = function (number) return segment_now(tunnel, list, number) end,
    used = function (n) tunnel.remotes:use(n, 1) end,
  })
  entries.done = function () let_go_of_unused(tunnel.remotes) end
  local neighbours = neighbor_kept.item(host.neighbours.cache, {
    of = "neighbours", now = engine.now, scale = MILLISECONDS,
    wants = function (ip) return tunnel.remotes.waiting[ip] ~= nil end,
    used = function (e) tunnel.remotes:resolved(e.ip, e.mac) end,
  })
  return {list:item("remotes"), entries, neighbours}
end
