-- SPDX-License-Identifier: Apache-2.0
-- libmoon's module `dpdkc`, that is ffi.C: functions of libmoon's and DPDK's that
-- scripts call themselves. Those that take a device's number are ours, under those
-- names.

local ffi = require("ffi")
require("core.declare")("native/moongen.h")

ffi.cdef[[
enum rte_lcore_state_t { WAIT, RUNNING, FINISHED };

struct rte_eth_xstat { uint64_t id, value; };
struct rte_eth_xstat_name { char name[64]; };
int32_t rte_eth_xstats_get(int32_t id, void *values, uint32_t n)
  __asm__("mg_device_xstats");
int32_t rte_eth_xstats_get_names(int32_t id, void *names, uint32_t n)
  __asm__("mg_device_xstat_names");

int32_t rte_eth_rx_burst_export(uint16_t id, uint16_t queue, struct packet **bufs,
  uint16_t n) __asm__("mg_receive_by_number");
int32_t rte_eth_tx_burst_export(uint16_t id, uint16_t queue, struct packet **bufs,
  uint16_t n) __asm__("mg_send_by_number");
int32_t dpdk_send_all_packets(uint16_t id, uint16_t queue, struct packet **bufs,
  uint16_t n) __asm__("mg_send_all_by_number");
int32_t rte_pktmbuf_free_export(struct packet *p) __asm__("mg_free_one");
int32_t alloc_mbufs(struct mempool *p, struct packet **to, uint32_t n, uint32_t length)
  __asm__("mg_alloc");
uint16_t rte_mbuf_refcnt_read_export(struct packet *p) __asm__("mg_references");
uint16_t rte_mbuf_refcnt_update_export(struct packet *p, int16_t n)
  __asm__("mg_add_references");

uint64_t rte_rdtsc(void) __asm__("pg_tsc");
uint64_t rte_get_tsc_hz(void) __asm__("pg_tsc_hz");
int32_t rte_eth_dev_count(void) __asm__("mg_device_count");
int32_t usleep(uint32_t microseconds);
]]

local dpdkc = {}

--- Limit a queue to `rate` Mbit/s: 0.
function dpdkc.rte_eth_set_queue_rate_limit(id, queue, rate)
  require("moongen.devices.device").get(id):getTxQueue(queue):setRate(rate)
  return 0
end

return setmetatable(dpdkc, {__index = ffi.C})
