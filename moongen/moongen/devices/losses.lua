-- SPDX-License-Identifier: Apache-2.0
-- What a script lost, reported when it ends: by device, queue and reason.

local ffi = require("ffi")
local statistics = require("moongen.devices.statistics")

local losses = {}

local stats = ffi.new("struct port_stats")

local function count(list, where, n, reason, ...)
  n = tonumber(n)
  if n > 0 then
    list[#list + 1] = {where = where, packets = n, reason = reason:format(...)}
  end
end

local function of_queues(list, name, d)
  for i = 0, d.nrx - 1 do
    local q, where = d.rx + i, ("%s, rx queue %d"):format(name, i)
    count(list, where, q.soft.missed, "it had no room")
    count(list, where, q.waiting, "not received when the script ended")
  end
  for i = 0, d.ntx - 1 do
    local q, where = d.tx + i, ("%s, tx queue %d"):format(name, i)
    count(list, where, q.beyond, "of a length that is set to more than their buffers "
      .. "hold")
    count(list, where, q.too_long, "longer than the %d bytes that the port takes",
      q.port.max_frame)
    count(list, where, q.too_short, "shorter than the %d bytes that the port takes",
      q.port.min_frame)
    count(list, where, q.refused, "the port didn't take them before the script ended")
  end
end

-- What isn't of a queue.
local function of_device(list, name, d)
  if d.opened == 0 then return end
  statistics.read(d, stats)
  local missed, failed = stats.imissed - d.missed, stats.oerrors
  for i = 0, d.nrx - 1 do missed = missed - d.rx[i].soft.missed end
  for i = 0, d.ntx - 1 do failed = failed - d.tx[i].dropped end
  count(list, name, d.missed, "sent to it while nobody received")
  count(list, name, missed, "the port had no room")
  count(list, name, stats.rx_nombuf, "there was no buffer to receive into")
  count(list, name, stats.ierrors, "the port received them with errors")
  count(list, name, failed, "the port failed to send them")
  count(list, name, d.ports[0].tx_unplugged, "sent to it while its interface was gone")
  count(list, name, d.waiting, "in the ring and not received when the script ended")
end

--- What device `d` (struct mg_device), whose port is open and drained, lost since it
--- was configured: a list of {where, packets, reason}.
function losses.of(d)
  local list = {}
  local name = ("Device %d (%s)"):format(d.id, ffi.string(d.text))
  of_device(list, name, d)
  of_queues(list, name, d)
  return list
end

--- Warn of them.
function losses.tell(list)
  for _, loss in ipairs(list) do
    require("moongen.log"):warn("%s: %d packets lost: %s", loss.where, loss.packets,
      loss.reason)
  end
end

return losses
