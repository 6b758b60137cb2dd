-- SPDX-License-Identifier: Apache-2.0
-- Schedules of packets (net/rate/pacer.h): the patterns in the units in which scripts
-- ask for them, and what was reached in the end.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")

local pacer = {}

local CRC_BYTES = 4
local IDLE_SHARE = 0.001 -- of the time: that is told

--- Mbit/s of a link whose speed isn't known: what scripts of libmoon count with.
pacer.DEFAULT_LINK = 10000

--- A pacer that lets everything go, called `name` in messages. Random numbers follow
--- from the seed. It lives as long as the process. `hz`: cycles a second, or nil.
function pacer.new(name, seed, hz)
  local p = C.pg_pacer_new(name, hz or 0, seed or 1)
  if p == nil then error("no memory for a rate limiter", 0) end
  return p
end

local function byte_cycles(p, mbit) return p.hz * 8 / (mbit * 1e6) end

local function link(mbit)
  return mbit and mbit > 0 and mbit or pacer.DEFAULT_LINK
end

--- No limit.
function pacer.unpaced(p) C.pg_pacer_set(p, C.PG_UNPACED, 0, 0, 0, "") end

--- So many Mbit/s, with 4 bytes of CRC a packet, without preamble and gap.
function pacer.rate(p, mbit)
  C.pg_pacer_set(p, C.PG_RATE, 0, byte_cycles(p, mbit), mbit, "Mbit/s")
end

--- A packet each so many nanoseconds.
function pacer.cbr(p, ns)
  C.pg_pacer_set(p, C.PG_CBR, p.hz * ns / 1e9, 0, 1000 / ns, "Mpps")
end

--- Packets each so many nanoseconds on average, with exponentially distributed gaps
--- that are not shorter than the packet takes on a link of `mbit`.
function pacer.poisson(p, ns, mbit)
  C.pg_pacer_set(p, C.PG_POISSON, p.hz * ns / 1e9, byte_cycles(p, link(mbit)),
    1000 / ns, "Mpps")
end

--- Each packet so many bytes on the wire (its `udata64`) after the start of the one
--- before it.
function pacer.spacing(p, mbit)
  C.pg_pacer_set(p, C.PG_SPACING, 0, byte_cycles(p, link(mbit)), 0, "")
end

--- Each packet so many bytes on the wire after the end of the one before it.
function pacer.delay(p, mbit)
  C.pg_pacer_set(p, C.PG_DELAY, 0, byte_cycles(p, link(mbit)), 0, "")
end

--- What was reached: `packets`, `seconds` (without pauses of over 100 ms in which the
--- script sent nothing, or had no CPU: `idle`), `rate` in
--- `unit` ("Mbit/s" or "Mpps"), `asked` (nil where each packet has its delay), `error`
--- (-0.01: 1 % less than asked; where nothing is asked, of the packets' delays), or nil
--- if nothing was sent by schedule.
function pacer.reached(p)
  local packets = tonumber(p.times.packets)
  if packets < 2 then return nil end
  local seconds = tonumber(p.times.left - p.times.first - p.times.idle) / p.hz
  if seconds <= 0 then return nil end
  local r = {packets = packets, seconds = seconds, unit = "Mpps",
    idle = tonumber(p.times.idle) / p.hz}
  if p.times.pattern == C.PG_RATE then
    r.unit = "Mbit/s"
    local bits = (tonumber(p.times.bytes) + packets * CRC_BYTES) * 8
    r.rate = bits * (packets - 1) / packets / seconds / 1e6
  else
    r.rate = (packets - 1) / seconds / 1e6
  end
  if p.asked > 0 then
    r.asked = p.asked
    r.error = r.rate / r.asked - 1
  else
    r.error = -tonumber(p.times.skipped) / p.hz / seconds
  end
  return r
end

--- That as a sentence.
function pacer.sentence(p)
  local r = pacer.reached(p)
  if not r then return nil end
  local name = ffi.string(p.name)
  if not r.asked then
    return ("%s: %d packets with their own delays, %.6g Mpps; %.2f %% behind them")
      :format(name, r.packets, r.rate, -r.error * 100)
  end
  local idle = r.idle < r.seconds * IDLE_SHARE and ""
    or (", without %.3g s in which nothing was sent"):format(r.idle)
  return ("%s: %.6g %s of %.6g %s reached (%+.2f %%), paced in software%s"):format(name,
    r.rate, r.unit, r.asked, r.unit, r.error * 100, idle)
end

--- Iterates over all pacers of the process, the oldest first.
function pacer.all()
  local list, p = {}, C.pg_pacers()
  while p ~= nil do
    table.insert(list, 1, p)
    p = p.next
  end
  return ipairs(list)
end

return pacer
