-- SPDX-License-Identifier: Apache-2.0
-- FromDPDKDevice and ToDPDKDevice: ports by their numbers, PCI addresses, and all of
-- Perigee's port strings, in quotes.

local common = require("click.devices.elements")

local ignored, define_receiver, define_sender = common.ignored, common.define_receiver,
  common.define_sender

local OF_DRIVERS = {"N_QUEUES", "NDESC", "MINTHREADS", "MAXTHREADS", "THREADOFFSET",
  "NUMA", "NUMA_NODE", "SCALE", "MINQUEUES", "MAXQUEUES", "CLEAR", "VERBOSE",
  "PREFETCH_SECOND"}
local UNSUPPORTED = {"MAC", "MTU", "MODE", "FLOW_RULES_FILE", "FLOW_ISOLATE",
  "VF_POOLS", "VF_VLAN", "PAUSE", "RX_INTR", "MAX_RSS", "RETA_SIZE",
  "POWER_MGMT", "IPCO", "TCO", "UCO", "TSO"}
local SWITCHES = {"VLAN_FILTER", "VLAN_STRIP", "VLAN_EXTEND", "LRO", "JUMBO"}

local FromDPDKDevice = define_receiver{
  name = "FromDPDKDevice", summary = "receives packets from a port",
  division = "any",
  arguments = ignored(ignored({
    {"PORT", "string", required = true}, {"QUEUE", "int"}, {"PROMISC", "bool"},
    {"VLAN_FILTER", "bool"}, {"VLAN_STRIP", "bool"}, {"VLAN_EXTEND", "bool"},
    {"LRO", "bool"}, {"JUMBO", "bool"},
    {"BURST", "unsigned", keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
    {"TIMESTAMP", "bool", default = false, keyword = true},
    {"PAINT_QUEUE", "bool", default = false, keyword = true},
    {"RSS_AGGREGATE", "bool", default = false, keyword = true},
    {"ALLOW_NONEXISTENT", "bool", default = false, keyword = true},
  }, OF_DRIVERS), UNSUPPORTED),
  notes = [[
With RSS_AGGREGATE true the aggregate annotation is the packet's RSS hash: the card's,
or the one that a card would compute, of addresses and the ports of TCP, UDP and SCTP,
by Toeplitz with a key of 0x6d5a over and over (both directions of a flow have the
same). It is 0 of what is no IP.]],
}

function FromDPDKDevice:configure(a)
  common.warn_of_ignored(self, a, UNSUPPORTED)
  common.warn_of_wanted(self, a, SWITCHES)
  self.timestamps, self.paint_queue = a.TIMESTAMP, a.PAINT_QUEUE
  self.hashed = a.RSS_AGGREGATE
  common.receive_from(self, a, a.PORT)
end

function FromDPDKDevice:initialize()
  common.initialize_receiver(self)
  if not (self.paint_queue and self.device) then return end
  self.device:settle()
  for i, receiver in ipairs(self.device.receivers) do
    if receiver == self then self.paint = i - 1 end
  end
end

local ToDPDKDevice = define_sender{
  name = "ToDPDKDevice", summary = "sends packets to a port",
  division = "any",
  arguments = ignored(ignored({
    {"PORT", "string", required = true}, {"QUEUE", "int"},
    {"BURST", "unsigned", keyword = true},
    {"ALLOW_NONEXISTENT", "bool", default = false, keyword = true},
  }, {"IQUEUE", "BLOCKING", "TIMEOUT", "ALLOC", "MAXQUEUES", "N_QUEUES", "NDESC",
    "VERBOSE", "THREADOFFSET", "MAXTHREADS"}), {"TSO", "IPCO", "TCO", "UCO"}),
}

function ToDPDKDevice:configure(a)
  common.warn_of_ignored(self, a, {"TSO", "IPCO", "TCO", "UCO"})
  common.send_to(self, a, a.PORT)
end

return {FromDPDKDevice, ToDPDKDevice}
