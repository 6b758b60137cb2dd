-- SPDX-License-Identifier: Apache-2.0
-- What an instance without an engine says of itself: its tasks, threads that run code
-- of their own, and its devices' queues. For lib.observe.sample, whose samples and
-- function rate(before, now, name) these functions take. Pure. In shared memory there
-- is, from whoever has such:
--
--   tasks/NUMBER NAME/cpu_ns         CPU time of the task's thread, ns
--   devices/N/port                   a line of text: what the device is
--   devices/N/missed                 packets that came and found no room
--   devices/N/rx/Q/packets, bytes, dropped    of the queue; bytes without CRC
--   devices/N/tx/Q/packets, bytes, dropped
--   devices/N/tx/Q/limit             bit/s with CRC that it may send; 0 (or no such
--                                    counter): no limit

local ethernet = require("net.wire.ethernet")
local shm = require("core.shm")

local tasks = {}

local WIRE_OVERHEAD = ethernet.OVERHEAD

--- The tasks: a list of {name = "1 receive", pps = load = CPU seconds a second, cpu =
--- seconds in all}.
function tasks.list(before, now, rate)
  local list = {}
  for name in pairs(now.objects) do
    local task = name:match("^tasks/([^/]+)/cpu_ns$")
    if task then
      local per_second, total = rate(before, now, name)
      local load = (per_second or 0) / 1e9
      list[#list + 1] = {name = shm.name_of_part(task), pps = load, load = load,
                         cpu = (total or 0) / 1e9}
    end
  end
  return list
end

local function queue(before, now, rate, id, way, number)
  local path = ("devices/%s/%s/%s/"):format(id, way, number)
  local pps, packets = rate(before, now, path .. "packets")
  local drops, dropped = rate(before, now, path .. "dropped")
  local bytes = rate(before, now, path .. "bytes") or 0
  local _, limit = rate(before, now, path .. "limit")
  return {name = ("%s %s %s"):format(id, way, number), device = id, way = way,
          pps = pps or 0, packets = packets or 0, drops = drops or 0,
          dropped = dropped or 0, limit = limit ~= 0 and limit or nil,
          bits = 8 * (bytes + WIRE_OVERHEAD * (pps or 0))}
end

--- The queues of all devices: a list of {name = "0 rx 1", device = "0", way = "rx" or
--- "tx", pps, bits (a second, on the wire), packets (in all), drops (a second),
--- dropped, limit (bit/s, or nil)}.
function tasks.queues(before, now, rate)
  local list = {}
  for name in pairs(now.objects) do
    local id, way, number = name:match("^devices/(%d+)/([rt]x)/(%d+)/packets$")
    if id then list[#list + 1] = queue(before, now, rate, id, way, number) end
  end
  return list
end

--- The devices that have the `queues` (a list as from tasks.queues): a list of {name =
--- "0 pcap:tx=a", input, output (packets a second), input_bits, output_bits, pps = the
--- greater of the two, drops (a second; packets that were missed, or that queues
--- dropped), dropped}.
function tasks.devices(before, now, rate, queues)
  local found, list = {}, {}
  for _, q in ipairs(queues) do
    local d = found[q.device]
    if not d then
      local port = now.ports and now.ports[q.device]
      local missed, all = rate(before, now, ("devices/%s/missed"):format(q.device))
      d = {name = port and q.device .. " " .. port or q.device, input = 0, output = 0,
           input_bits = 0, output_bits = 0, drops = missed or 0, dropped = all or 0}
      found[q.device], list[#list + 1] = d, d
    end
    local way = q.way == "rx" and "input" or "output"
    d[way], d[way .. "_bits"] = d[way] + q.pps, d[way .. "_bits"] + q.bits
    d.drops, d.dropped = d.drops + q.drops, d.dropped + q.dropped
    d.pps = math.max(d.input, d.output)
  end
  return list
end

--- Packets and bits a second of the whole instance: what its devices received or what
--- they sent, whichever is more.
function tasks.load(devices)
  local input, output, input_bits, output_bits = 0, 0, 0, 0
  for _, d in ipairs(devices) do
    input, output = input + d.input, output + d.output
    input_bits, output_bits = input_bits + d.input_bits, output_bits + d.output_bits
  end
  if input > output then return input, input_bits end
  return output, output_bits
end

return tasks
