-- SPDX-License-Identifier: Apache-2.0
-- Devices as C has them (struct mg_device), which all tasks share: made, divided into
-- queues, and emptied at the end.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local failure = require("core.failure")
local statistics = require("moongen.devices.statistics")
require("moongen.locks") -- methods of the lock

local native = {}

ffi.cdef[[
void *mg_device_memory(size_t alignment, size_t size) __asm__("aligned_alloc");
void mg_device_free_packets(struct packet **packets, unsigned n)
  __asm__("rte_pktmbuf_free_bulk");
]]

local RING_SIZE = 4096 -- packets that wait for a receive queue
local CACHE_LINE = 64

local shared = C.mg_shared()

--- The device of that number; nil (or a null pointer) if there is none.
function native.get(id)
  if id < 0 or id >= C.MG_MOST_DEVICES then return nil end
  return shared.devices[id]
end

--- How many devices there are; they are numbered from 0 on.
function native.count()
  local n = 0
  for id = 0, C.MG_MOST_DEVICES - 1 do
    if shared.devices[id] ~= nil then n = id + 1 end
  end
  return n
end

--- Make device number `id`, from 0 on, for a port (a string) that isn't open yet. A
--- failure if there is no memory.
function native.new(id, text)
  local size = math.ceil(ffi.sizeof("struct mg_device") / CACHE_LINE) * CACHE_LINE
  local memory = C.mg_device_memory(CACHE_LINE, size)
  if memory == nil then failure.raise("no memory for device %d", id) end
  ffi.fill(memory, size)
  local d = ffi.cast("struct mg_device *", memory)
  d.id, d.account.max, d.account.node = id, C.FREELIST_SIZE, -1
  ffi.copy(d.text, text:sub(1, ffi.sizeof(d.text) - 1))
  shared.devices[id] = d
end

-- Queues ------------------------------------------------------------------------------

--- Note which queues have one of the port's for themselves.
function native.use_sources(d)
  local sorted = d.soft.rules.n > 0 or d.sources < d.nrx
  for q = 0, d.nrx - 1 do d.rx[q].direct = sorted and 0 or 1 end
end

--- Nobody receives from the device's port (`rx`), or sends to it (`tx`), until it is
--- released: others wait.
function native.hold(d, rx, tx)
  for i = 0, rx and d.sources - 1 or -1 do C.pg_lock(d.rx_locks + i) end
  for i = 0, tx and d.sinks - 1 or -1 do C.pg_lock(d.tx_locks + i) end
end

function native.release(d, rx, tx)
  for i = 0, rx and d.sources - 1 or -1 do C.pg_unlock(d.rx_locks + i) end
  for i = 0, tx and d.sinks - 1 or -1 do C.pg_unlock(d.tx_locks + i) end
end

--- Add a rule (struct pg_rule) while others receive: false if there are too many.
function native.add_rule(d, rule)
  native.hold(d, true, false)
  local added = C.pg_rules_add(d.soft.rules, rule)
  native.use_sources(d)
  native.release(d, true, false)
  return added
end

local function set_up_queue(q, d, number, own)
  ffi.fill(q, ffi.sizeof("struct mg_queue"))
  q.device, q.qid, q.port = d, number, d.ports + number % own
end

local function set_up_receiver(d, number)
  local q = d.rx + number
  set_up_queue(q, d, number, d.sources)
  q.lock = d.rx_locks + number % d.sources
  d.soft.list[number], q.soft.ring = q.soft, C.pg_packet_ring_new(RING_SIZE, -1, true)
  if q.soft.ring == nil and d.nrx > 1 then
    failure.raise("device %d (%s): queue %d: %s", d.id, ffi.string(d.text), number,
      ffi.string(C.pg_error()))
  end
end

-- Threads that see what is written behind this see what was written before.
local function barrier()
  shared.lock:lock()
  shared.lock:unlock()
end

--- Give the device, whose port 0 is started with `sources` queues to receive from and
--- `sinks` to send to, `nrx` and `ntx` queues of the script's.
function native.set_up(d, nrx, ntx, sources, sinks)
  d.nrx, d.ntx, d.sources, d.sinks = nrx, ntx, sources, sinks
  d.ports[0].account = d.account
  for q = 1, math.max(sources, sinks) - 1 do
    d.ports[q] = d.ports[0]
    d.ports[q].queue = q
  end
  for number = 0, nrx - 1 do set_up_receiver(d, number) end
  for number = 0, ntx - 1 do
    set_up_queue(d.tx + number, d, number, sinks)
    d.tx[number].lock = d.tx_locks + number % sinks
  end
  native.use_sources(d)
  ffi.fill(d.began, ffi.sizeof(d.began))
  statistics.read(d, d.began)
  d.soft.n, d.soft.lent = nrx, d.peer ~= nil and 1 or 0
  d.soft.made_at = C.pg_tsc()
  barrier()
  d.configured = 1
end

--- Free and count what waits in the device's queues. Nobody may use it any more.
function native.drain(d)
  for number = 0, d.nrx - 1 do
    local q = d.rx[number]
    q.waiting = q.waiting + C.pg_packet_ring_free(q.soft.ring) + q.nstash
    C.mg_device_free_packets(q.stash, q.nstash)
    q.soft.ring, q.nstash = nil, 0
  end
  if d.configured == 0 or d.peer == nil then return end
  d.waiting = 0 -- what a peer sent
  for i = 0, d.sources - 1 do
    d.waiting = d.waiting + C.pg_port_discard(d.ports[i])
  end
end

return native
