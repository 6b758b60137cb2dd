-- SPDX-License-Identifier: Apache-2.0
-- libmoon's module `dpdkc`, that is ffi.C: functions of libmoon's and DPDK's that
-- scripts call themselves. Those that take a device's number are ours, under those
-- names.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local native = require("moongen.devices.native")
local names = require("moongen.packets.script_ffi").C

ffi.cdef[[
enum rte_lcore_state_t { WAIT, RUNNING, FINISHED };

struct rte_eth_xstat { uint64_t id, value; };
struct rte_eth_xstat_name { char name[64]; };

int32_t rte_pktmbuf_free_export(struct packet *p) __asm__("mg_free_one");
int32_t alloc_mbufs(struct mempool *p, struct packet **to, uint32_t n, uint32_t length)
  __asm__("mg_alloc");

uint64_t rte_rdtsc(void) __asm__("pg_tsc");
uint64_t rte_get_tsc_hz(void) __asm__("pg_tsc_hz");
int32_t usleep(uint32_t microseconds);
]]

names.rte_eth_dev_count = native.count

--- How often a buffer is to be sent or freed before its pool has it back.
function names.rte_mbuf_refcnt_read_export(p) return p.refcnt end

--- The same, by `n` more.
function names.rte_mbuf_refcnt_update_export(p, n)
  p.refcnt = p.refcnt + n
  return p.refcnt
end

-- Bursts by numbers -------------------------------------------------------------------

-- The queue, or nil; `way`: "rx" or "tx".
local function queue_of(id, number, way, count)
  local d = native.get(id)
  if d == nil or number >= d[count] then return nil end
  return d[way] + number
end

--- Receive up to `n` packets: how many.
function names.rte_eth_rx_burst_export(id, number, bufs, n)
  local queue = queue_of(id, number, "rx", "nrx")
  return queue and C.mg_receive(queue, bufs, n) or 0
end

--- Send as many as the device takes: how many.
function names.rte_eth_tx_burst_export(id, number, bufs, n)
  local queue = queue_of(id, number, "tx", "ntx")
  return queue and math.max(C.mg_try_send(queue, bufs, n), 0) or 0
end

--- Send all of them.
function names.dpdk_send_all_packets(id, number, bufs, n)
  local queue = queue_of(id, number, "tx", "ntx")
  return queue and C.mg_send(queue, bufs, n) or 0
end

-- Extended statistics -----------------------------------------------------------------

local NO_DEVICE = -19 -- ENODEV

-- How many the device's port has, and, where there is `room` for them, a list.
local function xstats(id, room)
  local d = native.get(id)
  if d == nil or d.opened == 0 then return NO_DEVICE end
  local n = C.pg_port_xstats(d.ports[0], nil, 0)
  if n <= 0 or room < n then return n end
  local list = ffi.new("struct port_xstat[?]", n)
  return math.min(C.pg_port_xstats(d.ports[0], list, n), n), list
end

-- Write them to the array `to` of `room` elements, as set(element, one, i) does.
local function copy_xstats(id, to, room, ctype, set)
  local n, list = xstats(id, to ~= nil and room or 0)
  if not list then return n end
  to = ffi.cast(ctype, ffi.cast("void *", to))
  for i = 0, n - 1 do set(to[i], list[i], i) end
  return n
end

--- They, and their names, as DPDK tells them: how many there are, with or without room.
function names.rte_eth_xstats_get(id, to, room)
  return copy_xstats(id, to, room, "struct rte_eth_xstat *", function (stat, one, i)
    stat.id, stat.value = i, one.value
  end)
end

function names.rte_eth_xstats_get_names(id, to, room)
  return copy_xstats(id, to, room, "struct rte_eth_xstat_name *", function (stat, one)
    ffi.copy(stat.name, one.name, ffi.sizeof(stat.name))
  end)
end

local dpdkc = {}

--- Limit a queue to `rate` Mbit/s: 0.
function dpdkc.rte_eth_set_queue_rate_limit(id, queue, rate)
  require("moongen.devices.device").get(id):getTxQueue(queue):setRate(rate)
  return 0
end

return setmetatable(dpdkc, {__index = names})
