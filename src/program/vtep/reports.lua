-- SPDX-License-Identifier: Apache-2.0
-- What `perigee vtep` says: a heading, and a line now and then.

local engine = require("core.app")
local link = require("core.link")
local timer = require("core.timer")
local si = require("core.engine.report").si
local addresses = require("net.address.address")

local M = {}

local COUNTED = {
  {"in", "inner.output -> vtep_ingress.input"},
  {"encapsulated", "vtep_encap.output -> vtep_out.encap"},
  {"from underlay", "outer.output -> vtep_decap.input"},
  {"decapsulated", "vtep_decap.output -> inner.input"},
}
local APPS = {"vtep_ingress", "vtep_encap", "vtep_decap"}

--- The line at the start.
function M.heading(tunnel)
  local s, vnis = tunnel.settings, {}
  for i, item in ipairs(s.vnis) do
    vnis[i] = item.vlan == 0 and tostring(item.vni)
      or ("%d (VLAN %d)"):format(item.vni, item.vlan)
  end
  return ("vtep: %s at %s, VNI %s, %d remotes\n"):format(s.address_text,
    addresses.text(s.mac), table.concat(vnis, ", "), (tunnel.remotes:count()))
end

local function drops()
  local parts = {}
  for _, app in ipairs(APPS) do
    local reasons = {}
    for reason, n in pairs(engine.drops(app)) do
      if n > 0 then reasons[#reasons + 1] = ("%s %d"):format(reason, n) end
    end
    table.sort(reasons)
    for _, text in ipairs(reasons) do parts[#parts + 1] = text end
  end
  return #parts > 0 and "; dropped: " .. table.concat(parts, ", ") or ""
end

--- A line of counters, and packets so far to give back as `before`, `seconds` later.
function M.line(tunnel, before, seconds)
  local parts, now = {}, {}
  for i, item in ipairs(COUNTED) do
    now[i] = link.stats(engine.link_table[item[2]]).txpackets
    parts[i] = ("%s %d (%s)"):format(item[1], now[i],
      si((now[i] - (before[i] or 0)) / seconds, "pps"))
  end
  return ("vtep: %s, %d entries%s\n"):format(table.concat(parts, ", "),
    tunnel.fdb:count(), drops()), now
end

--- Say a line every `seconds` seconds.
function M.every(seconds, tunnel, say)
  local before = {}
  timer.activate(timer.new("report of vtep", function ()
    local text
    text, before = M.line(tunnel, before, seconds)
    say(text)
  end, seconds * 1e9, "repeating"))
end

return M
