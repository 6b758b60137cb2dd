-- SPDX-License-Identifier: Apache-2.0
-- The rings between the workers (native/dpdk/passage.c): made before the workers hear
-- of them, and freed when no worker uses them any more, with the packets in them, which
-- are counted.

local ffi = require("ffi")
local C = require("core.native")
local affinity = require("core.cpus.affinity")
local failure = require("core.failure")
local partition = require("core.cpus.partition")
local pool = require("core.pool")

local rings = {}

local CAPACITY = 2048 -- packets: two links' worth

local open = {} -- by key: {passage, spec =, from =, to =}

--- Packets that were in rings when they were freed; and those dropped, since nobody
--- received, in rings that are gone.
rings.lost, rings.dropped = 0, 0

-- In memory of the receiver's NUMA node, if that has some.
local function new_passage(to)
  local node = to == partition.MAIN and -1 or C.pg_numa_of_cpu(affinity.cpu_for(to))
  local made = C.pg_passage_new(CAPACITY, C.pg_numa_memory(node))
  if made == nil then made = C.pg_passage_new(CAPACITY, -1) end
  if made == nil then failure.raise("%s", ffi.string(C.pg_error())) end
  return made
end

--- Make the rings of `crossings` (core.cpus.partition) that there aren't.
function rings.make(crossings)
  for key, crossing in pairs(crossings) do
    if not open[key] then
      open[key] = {passage = new_passage(crossing.to), spec = crossing.spec,
                   from = crossing.from, to = crossing.to}
    end
  end
end

--- The worker of `place` is given up: what comes for it is dropped. Nothing that it
--- might still use is freed.
function rings.abandon(place)
  rings.close(place, true)
  for _, entry in pairs(open) do
    if entry.to == place or entry.from == place then entry.abandoned = true end
  end
end

--- Free those that aren't in `crossings`.
function rings.keep(crossings)
  for key, entry in pairs(open) do
    if not crossings[key] and not entry.abandoned then
      rings.lost = rings.lost + C.pg_passage_drain(pool.freelist, entry.passage)
      rings.dropped = rings.dropped
        + tonumber(C.pg_passage_dropped(entry.passage))
      C.pg_passage_free(entry.passage)
      open[key] = nil
    end
  end
end

local function address(passage)
  return tonumber(ffi.cast("uintptr_t", ffi.cast("void *", passage)))
end

--- The argument of a stand-in (core.cpus.remote_app) from that of the part's.
function rings.ends(remote)
  local arg = {inputs = {}, outputs = {}, waits = {}}
  for _, direction in ipairs{"inputs", "outputs"} do
    for name, key in pairs(remote[direction]) do
      arg[direction][name] = address(open[key].passage)
    end
  end
  for name, waits in pairs(remote.waits) do
    arg.waits[name] = {apps = waits.apps, rings = {}}
    for i, key in ipairs(waits.keys) do
      arg.waits[name].rings[i] = open[key] and address(open[key].passage) or 0
    end
  end
  return arg
end

--- Open or close those that lead to `place`: packets for it are dropped.
function rings.close(place, closed)
  for _, entry in pairs(open) do
    if entry.to == place then C.pg_passage_close(entry.passage, closed) end
  end
end

--- Packets in those whose key goes(key) says yes to.
function rings.waiting(goes)
  local sum = 0
  for key, entry in pairs(open) do
    if goes(key) then sum = sum + C.pg_passage_waiting(entry.passage) end
  end
  return sum
end

--- Links between workers, {[SPEC] = {waiting =, dropped =, to =}}, in packets.
function rings.list()
  local list = {}
  for _, entry in pairs(open) do
    list[entry.spec] = {waiting = C.pg_passage_waiting(entry.passage), to = entry.to,
      dropped = tonumber(C.pg_passage_dropped(entry.passage))}
  end
  return list
end

return rings
