-- SPDX-License-Identifier: Apache-2.0
-- What `perigee replay` says at its end.

local core_lib = require("core.lib")
local drops = require("lib.traffic.drops")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local Rewriter = require("apps.rewrite.rewriter").Rewriter
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

-- What the ports have counted, together.
local function sums(ports)
  local sum = {packets = 0, bytes = 0, unsent = 0, oversize = 0, runt = 0,
               unplugged = 0, errors = 0}
  for _, app in ipairs(ports) do
    local stats = app:statistics()
    sum.packets = sum.packets + tonumber(app.port.txpackets) - stats.oerrors
    sum.bytes = sum.bytes + math.min(tonumber(app.port.txbytes), stats.obytes)
    sum.unsent = sum.unsent + link.nreadable(app.sink)
    sum.oversize = sum.oversize + stats.tx_oversize
    sum.runt = sum.runt + stats.tx_runt
    sum.unplugged = sum.unplugged + stats.tx_unplugged
    sum.errors = sum.errors + stats.oerrors
  end
  return sum
end

-- Of two ports what went to each.
local function sides(ports, options)
  if #ports < 2 then return nil end
  local client, server = sums{ports[1]}, sums{ports[2]}
  local function of(side, port, sum)
    return {side = side, port = port, packets = sum.packets, bytes = sum.bytes}
  end
  return {of("client", options.port, client), of("server", options.port2, server)}
end

-- What became of packets by rewriting; nil without.
local function rewritten(source, options)
  if not options.rewrite then return nil end
  local app = source.rewriter or engine.app_table.rewrite
  return {changed = tonumber(app.rewrite.changed),
          stale_checksums = tonumber(app.rewrite.stale)}
end

-- Dropped by the Rewriter.
local function add_rewriter_drops(list, source, options)
  if not options.rewrite then return end
  local counts = source.dropped or engine.drops("rewrite")
  for i, name in ipairs(Rewriter.drops) do
    list[#list + 1] = {name = name, count = tonumber(counts[i] or counts[name] or 0)}
  end
end

--- The figures of a run, for `text`: of the apps `source` (Replayer) and `ports`
--- (an array of Ports), at the time `now` (engine.now).
function M.figures(source, ports, now, options)
  local sum = sums(ports)
  local figures = {
    packets = sum.packets,
    bytes = sum.bytes,
    bits = source.bits,
    seconds = source.started and now - source.started or 0,
    scheduled = source.scheduled,
    unsent = sum.unsent,
    sides = sides(ports, options),
    rewritten = rewritten(source, options),
    drops = {
      {name = ("longer than %d bytes"):format(packet.max_payload),
       count = source.oversize},
      {name = "longer than the port takes", count = sum.oversize},
      {name = "shorter than an Ethernet header", count = sum.runt},
      {name = "to a card that was unplugged", count = sum.unplugged},
      {name = "failed in the device", count = sum.errors},
    },
  }
  add_rewriter_drops(figures.drops, source, options)
  return figures
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
    "dropped: " .. (drops(r.drops)),
  }
  for _, side in ipairs(r.sides or {}) do
    lines[#lines + 1] = ("from %ss, to %s: %s packets, %s bytes"):format(side.side,
      side.port, commas(side.packets), commas(side.bytes))
  end
  if r.rewritten then
    local stale = r.rewritten.stale_checksums
    lines[#lines + 1] = ("rewritten: %s packets%s"):format(commas(r.rewritten.changed),
      stale == 0 and "" or (", %s of them with a checksum that is in another "
        .. "fragment, or was cut off, and is wrong now"):format(commas(stale)))
  end
  if r.unsent > 0 then
    lines[#lines + 1] = ("not sent: %s, which the port didn't take"):format(
      commas(r.unsent))
  end
  return table.concat(lines, "\n") .. "\n"
end

return M
