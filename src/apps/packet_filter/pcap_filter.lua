-- SPDX-License-Identifier: Apache-2.0
-- PcapFilter: passes on the packets that a filter accepts (pcap-filter(7)) and, with a
-- state table, those of connections that it once accepted a packet of.

local C = require("core.declare")("apps/packet_filter/connections.h")
local conntrack = require("apps.packet_filter.conntrack")
local counter = require("core.counter")
local filter = require("lib.filter")
local unfused = require("core.fuse.unfused")

local add = counter.add
local match, match_stateful = C.pg_filter, C.pg_filter_stateful
local REJECTED, NEW = 1, 2

local PcapFilter = {
  config = {
    filter = {required = true},
    state_table = {},
    native = {default = true}, -- accepted: filters are machine code in any case
    alarm_type_qualifier = {},
  },
  outputs = {"output", "tx"}, -- it has the one or the other
  drops = {"rejected"},
}
PcapFilter.__index = PcapFilter
PcapFilter.reconfig_keeps = {}

--- Each copy has the connections of its flows.
function PcapFilter.division(arg)
  return type(arg) == "table" and arg.state_table and "flow" or "any"
end

local ports = {input = {input = "input", rx = "input"},
               output = {output = "output", tx = "output"}}
PcapFilter.link_names = ports

-- Of a filter without a state table.
local function process(self, p)
  if match(self.match, p.data, p.length) ~= 0 then return p, self.way end
  add(self.shm.rxerrors)
  return nil, REJECTED
end

local function process_stateful(self, p)
  local verdict = match_stateful(self.match, self.connections, p.data, p.length)
  if verdict ~= 0 then
    if verdict == NEW then add(self.shm.sessions_established) end
    return p, self.way
  end
  add(self.shm.rxerrors)
  return nil, REJECTED
end

PcapFilter.process = process -- tells the engine that its apps have one

--- `filter`: the expression; `state_table`: the name of a table of connections, which
--- filters of the same name share. Raises a failure if libpcap can't compile `filter`.
function PcapFilter:new(conf)
  local app = {match = filter.new(conf.filter), way = 1,
    shm = {rxerrors = {counter}, sessions_established = {counter}}}
  if conf.state_table then
    app.connections = conntrack.define(conf.state_table)
    app.process = process_stateful
  end
  return unfused.new(self, app)
end

function PcapFilter:link(direction, name)
  if direction == "output" then self.way = name == "tx" and 2 or 1 end
end

function PcapFilter:unlink() end

--- For net.keep: the connections of its table.
function PcapFilter:kept_state()
  return self.connections and {conntrack.kept_state(self.connections)} or nil
end

--- It can do without tick() for so long while no packet comes, in seconds.
PcapFilter.tick_seconds = 0.2

function PcapFilter:tick()
  if self.connections then conntrack.tell_time(self.connections) end
end

-- A class that isn't derived from this one doesn't have its link() and tick().
unfused.give_push(PcapFilter, function (app)
  app.way = app.output.tx and 2 or 1
  PcapFilter.tick(app)
end)

return {PcapFilter = PcapFilter}
