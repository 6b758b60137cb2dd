/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for packets of the pools (pool.c), in steps, of which some is left for ports.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_memzone.h>
#include <rte_mempool.h>

#include "../api.h"
#include "internal.h"
#include "pool_memory.h"

enum {
  ELEMENT_SIZE = sizeof(struct rte_mbuf) + PACKET_NOTES + PACKET_MAX_HEADROOM +
                 PACKET_MAX_PAYLOAD,
  PAGE_SIZE = 4096,
  RESERVE_BYTES = 8 << 20 /* for ports: DPDK panics when it has no memory for them */
};

uint32_t pg_pool_element_size(void)
{
  return ELEMENT_SIZE + pg_guard_bytes();
}

int pg_pool_populate(struct rte_mempool *pool, int32_t node, uint32_t n)
{
  static unsigned chunk;
  char name[RTE_MEMZONE_NAMESIZE];
  size_t bytes = (size_t)rte_mempool_calc_obj_size(pg_pool_element_size(),
                                                   pool->flags, NULL) * n;
  snprintf(name, sizeof name, "packets_%u", chunk);
  const struct rte_memzone *zone = rte_memzone_reserve_aligned(
    name, bytes, pg_numa_memory(node), RTE_MEMZONE_SIZE_HINT_ONLY, PAGE_SIZE);
  if (!zone)
    return pg_fail("no memory for %u more packets (%zu MB)", n, bytes >> 20);
  chunk++;
  int added = rte_mempool_populate_virt(
    pool, zone->addr, zone->len,
    rte_eal_has_hugepages() ? zone->hugepage_sz : PAGE_SIZE, NULL, NULL);
  if (added <= 0) {
    rte_memzone_free(zone);
    return pg_fail("no memory for %u more packets: %s", n,
                   rte_strerror(added ? -added : rte_errno));
  }
  return added;
}

static int too_small(void)
{
  return pg_fail("DPDK has less than %d MB of memory", RESERVE_BYTES >> 20);
}

/* As pg_pool_fill without hugepages. No reserve is taken and freed: rte_free() fills it
 * with zeros, and its pages would be the process's from then on. */
static int fill_plain(struct rte_mempool *pool, int32_t node, uint32_t n)
{
  struct rte_malloc_socket_stats memory = {0};
  size_t each = rte_mempool_calc_obj_size(pg_pool_element_size(), pool->flags, NULL);
  rte_malloc_get_socket_stats(RTE_MAX(pg_numa_memory(node), 0), &memory);
  if (memory.greatest_free_size < RESERVE_BYTES)
    return too_small();
  while (n / 2 >= POOL_LEAST_STEP && each * n > memory.greatest_free_size - RESERVE_BYTES)
    n /= 2;
  if (each * n > memory.greatest_free_size - RESERVE_BYTES)
    return pg_fail("no memory for %u more packets (%zu MB)", n, each * n >> 20);
  return pg_pool_populate(pool, node, n);
}

int pg_pool_fill(struct rte_mempool *pool, int32_t node, uint32_t n)
{
  if (!rte_eal_has_hugepages())
    return fill_plain(pool, node, n);
  void *reserve = rte_malloc_socket("reserve", RESERVE_BYTES, 0, pg_numa_memory(node));
  int added = reserve ? pg_pool_populate(pool, node, n) : too_small();
  while (reserve && added < 0 && n / 2 >= POOL_LEAST_STEP)
    added = pg_pool_populate(pool, node, n /= 2);
  rte_free(reserve);
  return added;
}
