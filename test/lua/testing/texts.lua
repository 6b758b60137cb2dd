-- SPDX-License-Identifier: Apache-2.0
-- For specs: graphs of a table of apps and a list of links, and packets as texts at
-- their ends.

local account = require("core.engine.account")
local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local testing = require("testing.support")

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
  testing.send(engine.link_table[spec], list)
end

--- Take all packets out of the link; a list of their texts.
function texts.take(spec)
  return testing.take(engine.link_table[spec])
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
