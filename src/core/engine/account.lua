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

local others = {}

--- Let the packets of these free lists, those of workers (struct freelist, or a table
--- with its counters), be part of the sums.
function account.include(lists) others = lists end

--- Are there any?
function account.has_others() return #others > 0 end

-- Packets apps have allocated since the start: what left the free list, which
-- is what was put on it (refills, frees) less what is there or was spilled.
local function allocated(list)
  return tonumber(list.refilled - list.spilled + list.frees) - list.nfree
end

local function add(a, list)
  a.received = a.received + tonumber(list.received)
  a.allocated = a.allocated + allocated(list)
  a.sent = a.sent + tonumber(list.sent)
  a.freed = a.freed + tonumber(list.frees)
  a.port_drops = a.port_drops + tonumber(list.port_drops)
  a.in_rings = a.in_rings + tonumber(list.handed) - tonumber(list.taken)
end

--- The sum over the packets, a table of numbers: received, allocated; sent,
--- freed, port_drops; in_links, with `in_other_links`, those of workers; in_rings
--- (between workers); held (by apps: what remains).
function account.packets(links, in_other_links)
  local a = {received = 0, allocated = 0, sent = 0, freed = 0, port_drops = 0,
             in_rings = 0, in_links = in_other_links or 0}
  add(a, fl)
  for _, list in ipairs(others) do add(a, list) end
  for _, l in pairs(links) do a.in_links = a.in_links + link.nreadable(l) end
  a.held = a.received + a.allocated - a.sent - a.freed - a.port_drops - a.in_links
    - a.in_rings
  return a
end

local COUNTERS = {"refilled", "spilled", "frees", "freebytes", "freebits", "sent",
                  "sentbytes", "sentbits", "received", "port_drops", "handed", "taken"}

--- What the free lists of workers that have ended counted.
account.retired = {nfree = 0}
for _, name in ipairs(COUNTERS) do account.retired[name] = 0ULL end

--- Keep what is counted in the free list of a worker that ended.
function account.retire(list)
  local kept = account.retired
  for _, name in ipairs(COUNTERS) do kept[name] = kept[name] + list[name] end
end

--- A number that changes whenever a packet reaches its end, or another worker.
function account.progress()
  return fl.frees + fl.sent + fl.handed
end

--- Add up in the table `now` its fields frees, freebytes and freebits, numbers: what apps
--- freed and ports sent up to now.
function account.count(now)
  local function add(list)
    now.frees = now.frees + tonumber(list.frees + list.sent)
    now.freebytes = now.freebytes + tonumber(list.freebytes + list.sentbytes)
    now.freebits = now.freebits + tonumber(list.freebits + list.sentbits)
  end
  add(fl)
  for _, list in ipairs(others) do add(list) end
end

--- Publish frees, freebytes and freebits: what apps freed and ports sent.
function account.sync(counters)
  counter.set(counters.frees, fl.frees + fl.sent)
  counter.set(counters.freebytes, fl.freebytes + fl.sentbytes)
  counter.set(counters.freebits, fl.freebits + fl.sentbits)
  for _, list in ipairs(others) do
    counter.add(counters.frees, list.frees + list.sent)
    counter.add(counters.freebytes, list.freebytes + list.sentbytes)
    counter.add(counters.freebits, list.freebits + list.sentbits)
  end
end

--- Packets out of the pool that neither the free list, links nor apps have:
--- those the ports' drivers hold, ready to receive into or not yet sent.
function account.in_drivers(packets)
  local at_hand = fl.nfree
  for _, list in ipairs(others) do at_hand = at_hand + list.nfree end
  return C.pg_pool_size() - C.pg_pool_available() - at_hand
    - packets.in_links - packets.in_rings - packets.held
end

return account
