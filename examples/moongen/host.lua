-- SPDX-License-Identifier: Apache-2.0
-- A host that answers ARP and ping, and looks up the address of another one.

local arp = require "proto.arp"
local device = require "device"
local icmp = require "proto.icmp"
local lm = require "libmoon"

function configure(parser)
  parser:argument("device", "The device to use."):convert(tonumber)
  parser:argument("address", "The IPv4 address it has.")
  parser:option("-l --lookup", "Print the Ethernet address of this IPv4 address.")
  return parser:parse()
end

function master(args)
  local dev = device.config{port = args.device, rxQueues = 2, txQueues = 2}
  device.waitForLinks()
  arp.startArpTask{rxQueue = dev:getRxQueue(0), txQueue = dev:getTxQueue(0),
    ips = args.address}
  arp.waitForStartup()
  icmp.startIcmpTask{rxQueue = dev:getRxQueue(1), txQueue = dev:getTxQueue(1),
    ips = args.address}
  if args.lookup then
    local mac = arp.blockingLookup(args.lookup, 10)
    printf("%s is at %s", args.lookup, mac or "no address")
  end
  print("ready")
  io.stdout:flush()
  lm.waitForTasks()
end
