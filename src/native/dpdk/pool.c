/* SPDX-License-Identifier: Apache-2.0
 *
 * The packet pools: one for each NUMA node that packets are wanted of, which is one
 * on most machines. A pool is a mempool with room for `max` packets of which memory is
 * reserved for some, few at first; pg_pool_grow() doubles those, and so does who finds
 * it empty (packet_ops.c). Ports receive from it and engines' free lists are refilled
 * from it, so both grow together. Any thread may free any packet: it goes back to the
 * pool it is of.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_memzone.h>

#include "../api.h"
#include "../log.h"
#include "internal.h"
#include "pool_memory.h"
#include "ring_count.h"

enum {
  CACHE_SIZE = RTE_MEMPOOL_CACHE_MAX_SIZE,
  USUAL_PACKETS = 8192, /* to grow so far isn't worth a line */
  PAGE = 4096
};

/* In the order they were made; none ever goes. */
static struct node_pool {
  struct rte_mempool *pool;
  int32_t node;   /* -1: of no node in particular */
  bool short_of_memory; /* it couldn't grow as far as it may */
} pools[RTE_MAX_NUMA_NODES + 1];

static int32_t made; /* of them */
static pthread_mutex_t growing = PTHREAD_MUTEX_INITIALIZER;

static inline int32_t pools_made(void)
{
  return __atomic_load_n(&made, __ATOMIC_ACQUIRE);
}

static struct node_pool *entry_of(const void *pool)
{
  for (int i = pools_made(); i-- > 0;)
    if (pools[i].pool == pool)
      return &pools[i];
  return NULL;
}

bool pg_pool_is_ours(const void *pool)
{
  return entry_of(pool) != NULL;
}

static uint32_t populated(const struct rte_mempool *pool)
{
  return __atomic_load_n(&pool->populated_size, __ATOMIC_RELAXED);
}

static struct rte_mempool *make(int32_t node, uint32_t initial, uint32_t max)
{
  struct rte_pktmbuf_pool_private room = {
    .mbuf_data_room_size = PACKET_MAX_HEADROOM + PACKET_MAX_PAYLOAD,
    .mbuf_priv_size = PACKET_NOTES};
  char name[RTE_MEMPOOL_NAMESIZE];
  snprintf(name, sizeof name, "packets%d", pools_made());
  struct rte_mempool *pool = rte_mempool_create_empty(
    name, max, pg_pool_element_size(), CACHE_SIZE, sizeof room, pg_numa_memory(node), 0);
  if (!pool) {
    pg_fail("no memory for a pool of %u packets: %s", max, rte_strerror(rte_errno));
    return NULL;
  }
  if (rte_mempool_set_ops_byname(pool, PG_PACKET_OPS, NULL) < 0) {
    pg_fail("DPDK doesn't take the mempool driver " PG_PACKET_OPS);
  } else {
    rte_pktmbuf_pool_init(pool, &room);
    if (pg_pool_fill(pool, node, RTE_MIN(initial, max)) > 0)
      return pool;
  }
  rte_mempool_free(pool);
  return NULL;
}

static struct rte_mempool *add_pool(int32_t node, uint32_t initial, uint32_t max)
{
  struct rte_mempool *pool = make(node, initial, max);
  if (pool) {
    pools[made] = (struct node_pool){pool, node, false};
    __atomic_store_n(&made, made + 1, __ATOMIC_RELEASE);
  }
  return pool;
}

static struct rte_mempool *find(int32_t node)
{
  for (int i = 0; i < pools_made(); i++)
    if (pools[i].node == node)
      return pools[i].pool;
  return NULL;
}

/* The first pool there is, or can be. */
static struct rte_mempool *any(uint32_t initial, uint32_t max)
{
  struct rte_mempool *pool = pools_made() ? pools[0].pool : NULL;
  for (int i = 0; !pool && i < pg_numa_nodes(); i++)
    pool = add_pool(pg_numa_by_index(i), initial, max);
  return pool;
}

/* The pool of a NUMA node (-1: of this thread's, or any), made if it isn't there: with
 * `initial` packets, or fewer where memory is short, at most `max` ever. NULL if it
 * can't be. */
void *pg_pool_of(int32_t node, uint32_t initial, uint32_t max)
{
  pthread_mutex_lock(&growing);
  if (node < 0 || pg_numa_nodes() == 1)
    node = pg_numa_here();
  struct rte_mempool *pool = node < 0 ? any(initial, max) : find(node);
  if (!pool && node >= 0)
    pool = add_pool(node, initial, max);
  pthread_mutex_unlock(&growing);
  return pool;
}

/* Any pool, for who can't have that of a node; NULL if there is no memory at all. */
void *pg_pool_any(uint32_t initial, uint32_t max)
{
  pthread_mutex_lock(&growing);
  struct rte_mempool *pool = any(initial, max);
  pthread_mutex_unlock(&growing);
  return pool;
}

/* The node that a pool was made for, or -1. */
int32_t pg_pool_node(const void *pool)
{
  const struct node_pool *entry = entry_of(pool);
  return entry ? entry->node : -1;
}

/* Packets that all pools have memory for. */
uint32_t pg_pool_size(void)
{
  uint32_t sum = 0;
  for (int i = 0; i < pools_made(); i++)
    sum += populated(pools[i].pool);
  return sum;
}

/* Packets in the pools now: neither in an app or link, nor in a free list, nor
 * held by a driver. */
uint32_t pg_pool_available(void)
{
  uint32_t sum = 0;
  for (int i = 0; i < pools_made(); i++)
    sum += rte_mempool_avail_count(pools[i].pool);
  return sum;
}

/* The same of one pool. */
uint32_t pg_pool_room(const void *pool)
{
  return pool ? populated(pool) : 0;
}

uint32_t pg_pool_left(const void *pool)
{
  return pool ? rte_mempool_avail_count(pool) : 0;
}

static int grow(struct rte_mempool *pool)
{
  uint32_t room = pool->size - pool->populated_size;
  uint32_t want = pool->populated_size;
  if (room == 0)
    return pg_fail("all %u packets are in use", pool->size);
  want = RTE_MIN(want, room);
  int added = pg_pool_populate(pool, pg_pool_node(pool), want);
  return added > 0 || want / 2 < POOL_LEAST_STEP
    ? added : pg_pool_fill(pool, pg_pool_node(pool), want / 2);
}

static void tell(const struct rte_mempool *pool, uint32_t before)
{
  int32_t node = pg_pool_node(pool);
  char where[32] = "";
  if (populated(pool) <= USUAL_PACKETS)
    return;
  if (node >= 0)
    snprintf(where, sizeof where, " of NUMA node %d", node);
  pg_logf(LOG_INFO, "the packet pool%s has grown from %u to %u packets", where, before,
          populated(pool));
}

/* Double the pool, up to its maximum, or add what there is memory for; the number of
 * packets added, or -1. None are added if it has grown from `before` already: another
 * thread saw the need. */
int pg_pool_grow(void *pool, uint32_t before)
{
  pthread_mutex_lock(&growing);
  int added = populated(pool) > before ? 0 : grow(pool);
  if (added > 0)
    tell(pool, before);
  pthread_mutex_unlock(&growing);
  return added;
}

static bool has(const struct rte_mempool *pool, unsigned n)
{
  return pg_ring_count(pool->pool_data) >= n;
}

/* Let an empty pool have `n` packets more at once, so that a burst after silence isn't lost
 * for want of a few packets: has it? Once memory is short that isn't tried again. */
bool pg_pool_add(struct rte_mempool *pool, unsigned n)
{
  struct node_pool *entry = entry_of(pool);
  while (!has(pool, n) && entry && populated(pool) < pool->size &&
         !__atomic_load_n(&entry->short_of_memory, __ATOMIC_RELAXED))
    if (pg_pool_grow(pool, populated(pool)) < 0)
      __atomic_store_n(&entry->short_of_memory, true, __ATOMIC_RELAXED);
  return has(pool, n);
}

static void give_back(struct rte_mempool *pool, void *unused)
{
  (void)unused;
  rte_mempool_cache_flush(rte_mempool_default_cache(pool, rte_lcore_id()), pool);
}

void pg_pool_leave(void)
{
  rte_mempool_walk(give_back, NULL);
}

/* Move up to `n` packets from the list's pool to the free list, empty and with their
 * headroom; the number moved, 0 when the pool hasn't so many. */
int pg_freelist_refill(struct freelist *fl, int32_t n)
{
  struct rte_mbuf **to = (struct rte_mbuf **)&fl->list[fl->nfree];
  if (!fl->pool || n > fl->max - fl->nfree ||
      rte_mempool_get_bulk(fl->pool, (void **)to, n) < 0)
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

/* Give each packet back to the pool it is of: neighbours are often of the same. */
static void put_by_pool(struct rte_mbuf **packets, int32_t n)
{
  for (int32_t from = 0, to = 0; from < n; from = to) {
    struct rte_mempool *pool = packets[from]->pool;
    while (to < n && packets[to]->pool == pool)
      to++;
    rte_mempool_put_bulk(pool, (void **)&packets[from], to - from);
  }
}

/* Give the last `n` packets of the free list back to their pools. */
void pg_freelist_spill(struct freelist *fl, int32_t n)
{
  if (n > fl->nfree)
    n = fl->nfree;
  fl->nfree -= n;
  fl->spilled += n;
  struct rte_mbuf **packets = (struct rte_mbuf **)&fl->list[fl->nfree];
  if (likely(pools_made() == 1))
    rte_mempool_put_bulk(pools[0].pool, (void **)packets, n);
  else
    put_by_pool(packets, n);
}

static void free_zone(struct rte_mempool_memhdr *memory, void *zone)
{
  (void)memory;
  rte_memzone_free(zone);
}

/* Give the pool all its frames, in one piece. */
static int fill_at_once(struct rte_mempool *pool, const char *name, int32_t node)
{
  const struct rte_memzone *zone = rte_memzone_reserve_aligned(
    name, (size_t)pool->size * PAGE, pg_numa_memory(node), RTE_MEMZONE_SIZE_HINT_ONLY,
    PAGE);
  if (!zone)
    return -1;
  int added = rte_mempool_populate_iova(pool, zone->addr, RTE_BAD_IOVA, zone->len,
                                        free_zone, (void *)zone);
  if (added <= 0)
    rte_memzone_free(zone);
  return added == (int)pool->size ? 0 : -1;
}

/* AF_XDP registers its pool with the kernel as one piece, whose pages stay in memory, in
 * frames no larger than a page (kernel: Documentation/networking/af_xdp.rst, UMEM). So
 * there are as few as will do: those of a full ring each way, of a cache and of bursts.
 * net_af_xdp of DPDK 22.11 computes that piece from the first piece of the pool's memory
 * and the size of a frame, and the mempool lets no frame cross pages: the kernel refuses
 * those beyond. A frame that is a page leaves no gaps. */
struct rte_mempool *pg_small_pool(const char *name, int32_t node)
{
  enum { RING = 2048, CACHE = 256, FRAMES = 2 * RING + 4 * CACHE - 1,
         FLAGS = RTE_MEMPOOL_F_NO_SPREAD };
  uint32_t around = rte_mempool_calc_obj_size(RTE_MEMPOOL_ALIGN, FLAGS, NULL) -
                    RTE_MEMPOOL_ALIGN;
  struct rte_pktmbuf_pool_private room = {
    .mbuf_data_room_size = PAGE - around - sizeof(struct rte_mbuf) - PACKET_NOTES,
    .mbuf_priv_size = PACKET_NOTES};
  struct rte_mempool *pool = rte_mempool_create_empty(
    name, FRAMES, PAGE - around, CACHE, sizeof room, pg_numa_memory(node), FLAGS);
  if (!pool)
    return NULL;
  rte_pktmbuf_pool_init(pool, &room);
  if (rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL) == 0 &&
      fill_at_once(pool, name, node) == 0) {
    rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
    return pool;
  }
  rte_mempool_free(pool);
  return NULL;
}
