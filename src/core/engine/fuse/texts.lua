-- SPDX-License-Identifier: Apache-2.0
-- For specs: graphs of a table of apps and a list of links, and packets as texts at
-- their ends.

local account = require("core.engine.account")
local config = require("core.config")
local engine = require("core.app")
local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")

local texts = {}

--- Run apps ({NAME = {class, argument}}) and links (a list of texts); the apps.
function texts.run(apps, links)
  local c = config.new()
  for name, app in pairs(apps) do config.app(c, name, unpack(app)) end
  for _, spec in ipairs(links) do config.link(c, spec) end
  engine.configure(c)
  return engine.app_table
end

--- Put a packet of each of the list of texts into the link.
function texts.send(spec, list)
  for _, text in ipairs(list) do
    link.transmit(engine.link_table[spec], packet.from_string(text))
  end
end

--- Take all packets out of the link; a list of their texts.
function texts.take(spec)
  local l, list = engine.link_table[spec], {}
  while not link.empty(l) do
    local p = link.receive(l)
    list[#list + 1] = ffi.string(p.data, p.length)
    packet.free(p)
  end
  return list
end

--- The link's counters: {packets and bytes received, sent, and packets dropped}.
function texts.totals(spec)
  local stats = link.stats(engine.link_table[spec])
  return {stats.rxpackets, stats.rxbytes, stats.txpackets, stats.txbytes, stats.txdrop}
end

--- Packets that apps hold.
function texts.held()
  return account.packets(engine.link_table).held
end

return texts
