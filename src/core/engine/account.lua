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
-- is what was put on it (refills, frees) less what is there, was kept apart or spilled.
local function allocated(list)
  return tonumber(list.refilled - list.spilled + list.frees) - list.nfree - list.aside
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
account.retired = {nfree = 0, aside = 0}
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

--- Packets that apps have freed and ports have sent up to now, and their bits on the
--- wire.
function account.ended()
  local packets, bits = fl.frees + fl.sent, fl.freebits + fl.sentbits
  for _, list in ipairs(others) do
    packets = packets + list.frees + list.sent
    bits = bits + list.freebits + list.sentbits
  end
  return tonumber(packets), tonumber(bits)
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

--- Packets out of the pool that neither the free list, links nor apps have: those that
--- the ports' drivers hold, ready to receive into or not yet sent. Fewer than none if
--- the sums in `packets` have more held than there are.
function account.in_drivers(packets)
  local at_hand = fl.nfree + fl.aside
  for _, list in ipairs(others) do at_hand = at_hand + list.nfree + list.aside end
  return C.pg_pool_size() - C.pg_pool_available() - at_hand
    - packets.in_links - packets.in_rings - packets.held
end

--- When all apps have been stopped, and with them all ports, no driver holds any more:
--- then those that apps hold, what the sum leaves, are all that are out of the pool.
--- What is wrong if they aren't, a sentence, or nil.
function account.at_end()
  if C.pg_pool_size() == 0 or C.pg_port_count() > 0 or C.pg_stuck() then return nil end
  local a = account.packets({})
  local others_have = account.in_drivers(a)
  if others_have == 0 then return nil end
  return ("at the end the sum of packets leaves %d that were never given back, but "
    .. "there are %d"):format(a.held, a.held + others_have)
end

return account
