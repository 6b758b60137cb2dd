-- SPDX-License-Identifier: Apache-2.0
-- What a tunnel has carried and learned, as tables of plain values: for reports.

local ffi = require("ffi")
local counts = require("apps.vtep.counts")
local fdb = require("net.fdb.fdb")
local addresses = require("net.address.address")

local state = {}

local function by_address(x, y) return x.address < y.address end

--- A list of {vni, vlan, encapsulated, decapsulated, flooded}, the last three as
--- counts.read has them; by VNI.
function state.vnis(tunnel)
  local list = {}
  for i, item in ipairs(tunnel.settings.vnis) do
    list[i] = counts.read(tunnel.vnis.array[tunnel.vnis.number[item.vni]].counts)
    list[i].vni, list[i].vlan = item.vni, item.vlan
  end
  return list
end

--- A list of {address, named (in the settings), resolved, mac (that packets to it are
--- sent to, if that is known), entries (learned), encapsulated, decapsulated, flooded}.
function state.remotes(tunnel)
  local remotes, list = tunnel.remotes, {}
  for n, address in pairs(remotes.address) do
    local r = remotes.array[n]
    local item = counts.read(r.counts)
    item.address, item.named = addresses.text(address), remotes.fixed[n] == true
    item.resolved, item.entries = r.ready ~= 0, remotes.uses[n]
    item.mac = item.resolved and addresses.text(ffi.string(r.header, 6)) or nil
    list[#list + 1] = item
  end
  table.sort(list, by_address)
  return list
end

--- What VNIs and remotes that aren't there any more have carried.
function state.gone(tunnel)
  return {vnis = counts.read(tunnel.vnis.gone),
          remotes = counts.read(tunnel.remotes.gone)}
end

--- The forwarding table, a list of {vni, mac, remote, static, age (seconds since it was
--- seen; nil: static)}.
function state.entries(tunnel)
  local list, forwarding, vnis = {}, tunnel.fdb, {}
  for vni, number in pairs(tunnel.vnis.number) do vnis[number] = vni end
  for n in forwarding:each() do
    local remote, static, key, seen = forwarding:entry(n)
    local mac, number = fdb.of_key(key)
    list[#list + 1] = {
      vni = vnis[number], mac = addresses.text(mac), static = static,
      remote = addresses.text(tunnel.remotes.address[remote]),
      age = not static and forwarding:now() - seen or nil,
    }
  end
  table.sort(list, function (x, y)
    if x.vni ~= y.vni then return x.vni < y.vni end
    return x.mac < y.mac
  end)
  return list
end

return state
