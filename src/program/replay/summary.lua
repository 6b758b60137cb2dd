-- SPDX-License-Identifier: Apache-2.0
-- What `perigee replay` says at its end.

local core_lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local si = require("core.engine.report").si

local M = {}

local function commas(n)
  return core_lib.comma_value(("%.0f"):format(n))
end

-- Over the time from the first packet to the last: one interval less than packets.
local function per_second(amount, packets, seconds)
  if packets < 2 or seconds <= 0 then
    return 0
  end
  return amount * (packets - 1) / packets / seconds
end

--- The rate that was asked for, as text: `options` of the command line, `r` as for
--- `text`.
function M.requested(options, r)
  if options.topspeed then
    return "as fast as possible"
  elseif options.rate then
    local rate = options.rate
    return rate.packet_rate and si(rate.packet_rate, "pps")
      or si(rate.bit_rate, "bit/s") .. " on the wire"
  end
  local scheduled = si(per_second(r.packets, r.packets, r.scheduled), "pps")
  return ("the recorded speed times %.10g (%s)"):format(options.speed or 1, scheduled)
end

-- Drops as "3 (1 longer than 10,240 bytes, 2 too short for the port)".
local function drops(list)
  local total, parts = 0, {}
  for _, drop in ipairs(list) do
    if drop.count > 0 then
      total = total + drop.count
      parts[#parts + 1] = commas(drop.count) .. " " .. drop.name
    end
  end
  local detail = #parts > 0 and " (" .. table.concat(parts, ", ") .. ")" or ""
  return commas(total) .. detail
end

--- The figures of a run, for `text`: of the apps `source` (Replayer) and `port`
--- (Port), at the time `now` (engine.now).
function M.figures(source, port, now)
  local stats = port:statistics()
  return {
    packets = tonumber(port.port.txpackets) - stats.oerrors,
    bytes = math.min(tonumber(port.port.txbytes), stats.obytes),
    bits = source.bits,
    seconds = source.started and now - source.started or 0,
    scheduled = source.scheduled,
    unsent = link.nreadable(port.sink),
    drops = {
      {name = ("longer than %d bytes"):format(packet.max_payload),
       count = source.oversize},
      {name = "longer than the port takes", count = stats.tx_oversize},
      {name = "shorter than an Ethernet header", count = stats.tx_runt},
      {name = "to a card that was unplugged", count = stats.tx_unplugged},
      {name = "failed in the device", count = stats.oerrors},
    },
  }
end

--- The report of a run. `r` is a table of numbers: `packets`, `bytes` and `bits` (on
--- the wire) sent, in `seconds`; `scheduled`, the seconds it should have taken;
--- `unsent`, packets left in the link; and `drops`, an array of {name, count}.
function M.text(options, r)
  local lines = {
    ("replay: %s packets, %s bytes in %.3f s"):format(commas(r.packets),
                                                     commas(r.bytes), r.seconds),
    ("requested: %s"):format(M.requested(options, r)),
    ("achieved: %s, %s on the wire"):format(
      si(per_second(r.packets, r.packets, r.seconds), "pps"),
      si(per_second(r.bits, r.packets, r.seconds), "bit/s")),
    "dropped: " .. drops(r.drops),
  }
  if r.unsent > 0 then
    lines[#lines + 1] = ("not sent: %s, which the port didn't take"):format(
      commas(r.unsent))
  end
  return table.concat(lines, "\n") .. "\n"
end

return M
