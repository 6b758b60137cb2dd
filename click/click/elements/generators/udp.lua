-- SPDX-License-Identifier: Apache-2.0
-- Sources of UDP packets: FastUDPFlows, of many flows, and FastUDPSource, of one.

local flows = require("click.traffic.flows")
local frames = require("click.traffic.frames")

local define, put16 = flows.define, frames.put16
local MOST_RATE = flows.MOST_RATE

local UDP = 17
local NOBODY, LOCALHOST = ("\0"):rep(6), 0x7f000001
local UDP_CHECKSUM = frames.TRANSPORT + 6

local function make_udp(self)
  local bytes = frames.ip(self.length, {source = self.source,
    destination = self.destination, from = self.from, to = self.to, protocol = UDP})
  put16(bytes, frames.TRANSPORT + 4, self.length - frames.TRANSPORT)
  self.template = bytes
  self.sum = self.checksums and frames.transport_sum(bytes, self.length) or nil
end

local FastUDPFlows = define{
  name = "FastUDPFlows", summary = "makes UDP packets of many flows",
  is_udp = true, make_templates = make_udp,
  arguments = flows.arguments{
    {"BURST", "unsigned", default = 32, keyword = true},
    {"FLOWBURST", "unsigned", default = 1, keyword = true},
    {"CHECKSUM", "bool", default = true, keyword = true},
    {"SEQUENTIAL", "bool", default = false, keyword = true},
    {"DUPLICATE", "bool", default = false, keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
    {"STOP", "bool", default = false, keyword = true},
  },
}

function FastUDPFlows:configure(a)
  self.burst, self.flow_burst = math.max(a.BURST, 1), math.max(a.FLOWBURST, 1)
  self.checksums, self.sequential = a.CHECKSUM, a.SEQUENTIAL
  self.flow, self.in_burst = 0, 0
  self:set_common(a)
end

-- The flow of the next packet: for FLOWBURST packets the same.
local function choose_flow(self)
  if self.in_burst >= self.flow_burst then
    self.in_burst = 0
    self.flow = self.sequential and (self.flow + 1) % self.flows
      or math.random(0, self.flows - 1)
  end
  self.in_burst = self.in_burst + 1
  return self.flow
end

function FastUDPFlows:make_packet()
  local flow = choose_flow(self)
  if self.sent[flow] >= self.flow_size then
    self:change_ports(flow)
    self.sent[flow] = 0
  end
  self.sent[flow] = self.sent[flow] + 1
  return self:stamp(self.template, flow, self.sum, UDP_CHECKSUM)
end

local FastUDPSource = define{
  name = "FastUDPSource", summary = "makes UDP packets of one flow",
  division = "none", undivided = "it makes packets itself, in one row",
  is_udp = true, make_templates = make_udp,
  arguments = {
    {"RATE", "unsigned", default = 0, max = MOST_RATE},
    {"LIMIT", "int", default = -1},
    {"LENGTH", "unsigned", default = 64},
    {"SRCETH", "eth", default = NOBODY}, {"SRCIP", "ip", default = LOCALHOST},
    {"SPORT", "ip_port", default = 1000, protocol = UDP},
    {"DSTETH", "eth", default = NOBODY}, {"DSTIP", "ip", default = LOCALHOST},
    {"DPORT", "ip_port", default = 1000, protocol = UDP},
    {"CHECKSUM", "bool", default = true},
    {"INTERVAL", "unsigned", default = 0},
    {"ACTIVE", "bool", default = true},
    {"STOP", "bool", default = false, keyword = true},
  },
}

function FastUDPSource:configure(a)
  self.burst, self.checksums = 32, a.CHECKSUM
  self.first_source_port, self.first_destination_port = a.SPORT, a.DPORT
  self.interval = a.INTERVAL
  a.FLOWS, a.FLOWSIZE = 1, 1
  self:set_common(a)
end

function FastUDPSource:make_packet()
  if self.count == 0 then
    self.source_port[0], self.destination_port[0] = self.first_source_port,
      self.first_destination_port
  elseif self.interval > 0 and self.count % self.interval == 0 then
    self.source_port[0] = self.source_port[0] + 1
    self.destination_port[0] = self.destination_port[0] + 1
  end
  return self:stamp(self.template, 0, self.sum, UDP_CHECKSUM)
end

return {FastUDPFlows, FastUDPSource}
