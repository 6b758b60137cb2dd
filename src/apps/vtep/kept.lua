-- SPDX-License-Identifier: Apache-2.0
-- What of a tunnel end point outlives the process (net.keep): what it has learned, and
-- the Ethernet addresses of next hops.

local addresses = require("net.address.address")
local engine = require("core.app")
local fdb_kept = require("net.fdb.kept")
local neighbor_kept = require("net.neighbor.kept")
local names = require("net.keep.names")

local REMOTE, VNI = 1, 2 -- kinds of names
local MILLISECONDS = 1000

-- The names of what there is now, and of what there will be. What the process before
-- this one had stays known: entries that wait may need it when settings change.
local function name_all(tunnel)
  local remotes, vnis = tunnel.remotes, tunnel.vnis
  local list = names.new(remotes.last + vnis.most)
  tunnel.former_names = tunnel.former_names or list.before
  list.before = tunnel.former_names
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

local function is_remote(s, address)
  return #address == #s.address and addresses.is_unicast(address)
    and address ~= s.address
end

-- The number that the remote of a former number has now, which may be new.
local function remote_now(tunnel, list, number)
  local s, address = tunnel.settings, list:former(REMOTE, number)
  if not address then return nil, "of a remote without an address" end
  if not is_remote(s, address) then return nil, "of a remote that can't be one" end
  local n = tunnel.remotes.number[address]
    or not s.strict and tunnel.remotes:add(address)
  if not n then return nil, "of a remote that isn't one now" end
  return n
end

local function segment_now(tunnel, list, number)
  local vni = tonumber(list:former(VNI, number))
  local n = vni and tunnel.vnis.number[vni]
  if not n then return nil, fdb_kept.NO_SEGMENT end
  return n
end

local function numbers_of(list, kind)
  local found = {}
  for n in pairs(list.before[kind] or {}) do found[#found + 1] = n end
  return found
end

-- Remotes of the process before this one are there, by the same numbers if they can be:
-- two files with entries may have the same names (a process that was killed before it
-- had all). They stay until all entries are.
local function hold_remotes(tunnel, list)
  local s, remotes, former = tunnel.settings, tunnel.remotes, {}
  local held = tunnel.held or {}
  for n, address in pairs(list.before[REMOTE] or {}) do
    if is_remote(s, address) then former[n] = address end
  end
  if not s.strict then remotes:add_former(former) end
  for n in pairs(former) do
    local now = remote_now(tunnel, list, n)
    if now and not held[now] then
      held[now] = true
      remotes:use(now, 1)
    end
  end
  tunnel.held = held
end

local function let_go(tunnel)
  for n in pairs(tunnel.held or {}) do tunnel.remotes:use(n, -1) end
  tunnel.held, tunnel.former_names = nil, nil
end

-- Do numbers stand for something else than they did?
local function has_changed(list, kind, now)
  for n in pairs(list.before[kind] or {}) do
    if now(n) ~= n then return true end
  end
  return false
end

--- Items for net.keep of the Host `host`.
return function (host)
  local tunnel = host.tunnel
  local list = name_all(tunnel)
  tunnel.fdb:set_now(math.floor(engine.now()) + 1)
  local function remote(number) return remote_now(tunnel, list, number) end
  local function segment(number) return segment_now(tunnel, list, number) end
  local entries = fdb_kept.item(tunnel.fdb, {
    of = "forwarding entries", uses = tunnel.remotes.uses, port = remote,
    segment = segment,
    numbers = function ()
      hold_remotes(tunnel, list)
      return numbers_of(list, REMOTE)
    end,
    segments = function () return numbers_of(list, VNI) end,
    at_once = function ()
      return has_changed(list, REMOTE, remote) or has_changed(list, VNI, segment)
    end,
  })
  entries.done = function () let_go(tunnel) end
  local neighbours = neighbor_kept.item(host.neighbours.cache, {
    of = "neighbours", now = engine.now, scale = MILLISECONDS,
    used = function (e) tunnel.remotes:resolved(e.ip, e.mac) end,
  })
  local cache, remotes = host.neighbours.cache, tunnel.remotes
  function remotes.recall(n) -- until all are there
    local hop = remotes.hop[n]
    if hop then cache:find(hop) end
  end
  function neighbours.done() remotes.recall = nil end
  return {list:item("remotes"), entries, neighbours}
end
