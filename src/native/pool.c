/* SPDX-License-Identifier: Apache-2.0
 *
 * The packet pool: one mempool with room for `max` packets of which memory is
 * reserved for some; pg_pool_grow() doubles those. Ports receive from it and
 * the engine's free list is refilled from it, so both grow together.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_memzone.h>
#include <rte_mempool.h>

#include "api.h"
#include "internal.h"

enum {
  ELEMENT_SIZE = sizeof(struct rte_mbuf) + PACKET_MAX_HEADROOM +
                 PACKET_MAX_PAYLOAD,
  CACHE_SIZE = RTE_MEMPOOL_CACHE_MAX_SIZE,
  PAGE_SIZE = 4096,
  FEWEST_PACKETS = 512,
  RESERVE_BYTES = 8 << 20
};

static struct rte_mempool *pool;
static pthread_mutex_t growing = PTHREAD_MUTEX_INITIALIZER;

struct rte_mempool *pg_packet_pool(void)
{
  return pool;
}

/* Give memory for `n` more packets to the pool; the number added, or -1. */
static int populate(uint32_t n)
{
  static unsigned chunk;
  char name[RTE_MEMZONE_NAMESIZE];
  size_t bytes = (size_t)rte_mempool_calc_obj_size(ELEMENT_SIZE, pool->flags,
                                                   NULL) * n;
  snprintf(name, sizeof name, "packets_%u", chunk);
  const struct rte_memzone *zone = rte_memzone_reserve_aligned(
    name, bytes, SOCKET_ID_ANY, RTE_MEMZONE_SIZE_HINT_ONLY, PAGE_SIZE);
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

/* Create the pool: `initial` packets now, or half of that and so on where memory
 * is short, at most `max` ever. The number of packets, or -1. */
int pg_pool_create(uint32_t initial, uint32_t max)
{
  struct rte_pktmbuf_pool_private room = {
    .mbuf_data_room_size = PACKET_MAX_HEADROOM + PACKET_MAX_PAYLOAD};
  if (pool)
    return pg_fail("the packet pool exists already");
  pool = rte_mempool_create_empty("packets", max, ELEMENT_SIZE, CACHE_SIZE,
                                  sizeof room, SOCKET_ID_ANY, 0);
  if (!pool)
    return pg_fail("no memory for a pool of %u packets: %s", max,
                   rte_strerror(rte_errno));
  if (rte_mempool_set_ops_byname(pool, PG_PACKET_OPS, NULL) < 0)
    return pg_fail("DPDK doesn't take the mempool driver " PG_PACKET_OPS);
  rte_pktmbuf_pool_init(pool, &room);
  /* Ports need memory too: DPDK panics when it has none for them. */
  void *reserve = rte_malloc("reserve", RESERVE_BYTES, 0);
  uint32_t n = RTE_MIN(initial, max);
  int added = reserve ? populate(n) : pg_fail("DPDK has less than %d MB of memory",
                                              RESERVE_BYTES >> 20);
  while (reserve && added < 0 && n / 2 >= FEWEST_PACKETS)
    added = populate(n /= 2);
  rte_free(reserve);
  return added;
}

/* Packets the pool has memory for. */
uint32_t pg_pool_size(void)
{
  return pool ? __atomic_load_n(&pool->populated_size, __ATOMIC_RELAXED) : 0;
}

static int grow(void)
{
  uint32_t room = pool->size - pool->populated_size;
  uint32_t want = pool->populated_size;
  if (room == 0)
    return pg_fail("all %u packets are in use", pool->size);
  return populate(want < room ? want : room);
}

/* Double the pool, up to its maximum; the number of packets added, or -1. None
 * are added if it has grown from `before` already: another thread saw the need. */
int pg_pool_grow(uint32_t before)
{
  pthread_mutex_lock(&growing);
  int added = pool->populated_size > before ? 0 : grow();
  pthread_mutex_unlock(&growing);
  return added;
}

void pg_pool_leave(void)
{
  if (pool)
    rte_mempool_cache_flush(rte_mempool_default_cache(pool, rte_lcore_id()), pool);
}

/* Packets in the pool now: neither in an app or link, nor in a free list, nor
 * held by a driver. */
uint32_t pg_pool_available(void)
{
  return pool ? rte_mempool_avail_count(pool) : 0;
}

/* Move up to `n` packets from the pool to the free list, empty and with their
 * headroom; the number moved, 0 when the pool hasn't so many. */
int pg_freelist_refill(struct freelist *fl, int32_t n)
{
  struct rte_mbuf **to = (struct rte_mbuf **)&fl->list[fl->nfree];
  if (!pool || n > fl->max - fl->nfree ||
      rte_mempool_get_bulk(pool, (void **)to, n) < 0)
    return 0;
  for (int32_t i = 0; i < n; i++) {
    to[i]->data_off = PACKET_HEADROOM;
    to[i]->data_len = 0;
    to[i]->ol_flags = 0;
  }
  fl->nfree += n;
  fl->refilled += n;
  return n;
}

/* Give the last `n` packets of the free list back to the pool. */
void pg_freelist_spill(struct freelist *fl, int32_t n)
{
  if (n > fl->nfree)
    n = fl->nfree;
  fl->nfree -= n;
  fl->spilled += n;
  rte_mempool_put_bulk(pool, (void **)&fl->list[fl->nfree], n);
}

/* AF_XDP registers its pool with the kernel as one piece, in frames no larger
 * than a page (kernel: Documentation/networking/af_xdp.rst, UMEM). */
struct rte_mempool *pg_small_pool(const char *name)
{
  enum { SMALL_PACKETS = 8192 - 1, SMALL_ROOM = RTE_PKTMBUF_HEADROOM + 3520 };
  return rte_pktmbuf_pool_create(name, SMALL_PACKETS, 256, 0, SMALL_ROOM,
                                 SOCKET_ID_ANY);
}
