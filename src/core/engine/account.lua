-- SPDX-License-Identifier: Apache-2.0
-- Where every packet went. What came in (received by ports, allocated by apps)
-- is what went out (sent, freed, dropped) and what is still here (in links,
-- held by apps). Nothing is counted per packet for this but the frees.

local C = require("core.native")
local counter = require("core.counter")
local link = require("core.link")
local pool = require("core.pool")

local account = {}

local fl = pool.freelist

--- Packets apps have allocated since the start: what left the free list, which
--- is what was put on it (refills, frees) less what is there or was spilled.
local function allocated()
  return tonumber(fl.refilled - fl.spilled + fl.frees) - fl.nfree
end

--- The sum over the packets, a table of numbers: received, allocated; sent,
--- freed, port_drops; in_links; held (by apps: what remains).
function account.packets(links)
  local a = {
    received = tonumber(fl.received), allocated = allocated(),
    sent = tonumber(fl.sent), freed = tonumber(fl.frees),
    port_drops = tonumber(fl.port_drops), in_links = 0,
  }
  for _, l in pairs(links) do a.in_links = a.in_links + link.nreadable(l) end
  a.held = a.received + a.allocated - a.sent - a.freed - a.port_drops - a.in_links
  return a
end

--- A number that changes whenever a packet reaches its end.
function account.progress()
  return fl.frees + fl.sent
end

--- Publish frees, freebytes and freebits: what apps freed and ports sent.
function account.sync(counters)
  counter.set(counters.frees, fl.frees + fl.sent)
  counter.set(counters.freebytes, fl.freebytes + fl.sentbytes)
  counter.set(counters.freebits, fl.freebits + fl.sentbits)
end

--- Packets out of the pool that neither the free list, links nor apps have:
--- those the ports' drivers hold, ready to receive into or not yet sent.
function account.in_drivers(packets)
  return C.pg_pool_size() - C.pg_pool_available() - fl.nfree
    - packets.in_links - packets.held
end

return account
