/* SPDX-License-Identifier: Apache-2.0
 *
 * What the references share: failing with a sentence, CPU time, ports.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "../../src/native/api.h"

static inline void check(bool good, const char *what)
{
  if (good)
    return;
  fprintf(stderr, "%s failed\n", what);
  exit(1);
}

static inline double cpu_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

/* The next random number, the same in each run: xorshift64 (Marsaglia, 2003). */
static inline uint64_t roll(void)
{
  static uint64_t dice = 88172645463325252u;
  dice ^= dice << 13;
  dice ^= dice >> 7;
  dice ^= dice << 17;
  return dice;
}

/* A pool as a program in C has it: packets of 2 KB, not of 10 as perigee's. */
static inline struct rte_mempool *make_larger_pool(unsigned packets)
{
  struct rte_mempool *pool = rte_pktmbuf_pool_create(
    "pool", packets, RTE_MEMPOOL_CACHE_MAX_SIZE, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
    SOCKET_ID_ANY);
  check(pool, "the packet pool");
  return pool;
}

/* A pool as large as perigee's gets when ports are full. (With 1,023 packets, as it begins,
 * C is as fast: bursts come from the cache.) */
static inline struct rte_mempool *make_pool(void)
{
  return make_larger_pool(8192);
}

/* Is an IPv4 header's checksum right (RFC 1071)? `n` are its bytes, 20 to 60. */
static inline bool ip_sum_is_right(const void *header, uint16_t n)
{
  const unaligned_uint32_t *words = header;
  uint64_t sum = (uint64_t)words[0] + words[1] + words[2] + words[3] + words[4];
  for (uint16_t i = 5; i < n / 4; i++)
    sum += words[i];
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
  return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

/* Start a virtual device ("net_null_pg0,size=60"), one queue each way; its
 * number. */
static inline uint16_t open_port(const char *devargs, struct rte_mempool *pool)
{
  struct rte_eth_conf conf = {0};
  char name[64];
  uint16_t port;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(devargs, ","), devargs);
  check(rte_dev_probe(devargs) == 0, devargs);
  check(rte_eth_dev_get_port_by_name(name, &port) == 0, name);
  check(rte_eth_dev_configure(port, 1, 1, &conf) == 0, "configure");
  check(rte_eth_rx_queue_setup(port, 0, 1024, SOCKET_ID_ANY, NULL, pool) == 0,
        "rx queue");
  check(rte_eth_tx_queue_setup(port, 0, 1024, SOCKET_ID_ANY, NULL) == 0,
        "tx queue");
  check(rte_eth_dev_start(port) == 0, "start");
  return port;
}

/* What every reference prints: packets, CPU seconds, TSC Hz. */
static inline void print_result(uint64_t packets, double seconds)
{
  printf("%lu %.6f %lu\n", (unsigned long)packets, seconds,
         (unsigned long)rte_get_tsc_hz());
}
