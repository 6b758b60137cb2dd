-- SPDX-License-Identifier: Apache-2.0
-- pcap: capture files, one to receive from and one to send to.

local C = require("core.native")
local arguments = require("lib.port.arguments")
local device = require("lib.port.device")
local failure = require("core.failure")
local files = require("lib.port.files")
local needs = require("lib.port.needs")

local pcap = {
  name = "pcap", order = 2,
  summary = "capture files: receives from one, sends into another",
  args = {
    {name = "rx", type = arguments.file, show = "FILE",
      help = "pcap or pcapng file to receive from"},
    {name = "tx", type = arguments.file, show = "FILE",
      help = "pcap file to write what is sent to"},
    {name = "loop", type = arguments.flag, default = 0, show = "1",
      help = "1: start the rx file again at its end"},
  },
  one_of = {"rx", "tx"},
  driver = "net_pcap",
  begins_anew = true,
  bench = {order = 3, receive = "pcap:rx=%s/in.pcap,loop=1",
    send = "pcap:tx=/dev/null", capture = true},
}

function pcap.devargs(port)
  local list = {}
  if port.rx then list[#list + 1] = "rx_pcap=" .. port.rx end
  if port.tx then list[#list + 1] = "tx_pcap=" .. port.tx end
  if port.loop == 1 then list[#list + 1] = "infinite_rx=1" end
  return list
end

function pcap.thing(port) return port.tx and "file " .. port.tx end

function pcap.check(port)
  if port.rx then needs.no_problem(port, files.unreadable_capture(port.rx)) end
  if port.tx then needs.no_problem(port, files.unwritable(port.tx)) end
  if port.rx and port.tx and files.same(port.rx, port.tx) then
    needs.refuse(port, "rx and tx are the same file; give tx another name")
  end
end

function pcap.open(device_port, port)
  device.open(device_port, port, pcap)
  -- net_pcap refuses longer packets when it sends a file over and over.
  device_port.tidy = port.loop == 1 and 0 or 1
end

function pcap.reads(port) return port.rx end

function pcap.ends(port) return port.loop ~= 1 end

function pcap.ended(device_port, port, app)
  if not port.rx then return true end
  if device_port.found_nothing == 0 or C.pg_pool_left(device_port.pool) == 0 then
    return false
  end
  local stats = app:statistics()
  if stats.ierrors > 0 then
    failure.raise("port '%s': %s is damaged or cut short after packet %d",
      port.text, port.rx, stats.ipackets)
  end
  return true
end

return pcap
