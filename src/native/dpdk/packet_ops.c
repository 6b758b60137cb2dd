/* SPDX-License-Identifier: Apache-2.0
 *
 * The mempool driver of the packet pool: DPDK's ring of many producers and many
 * consumers, but packets are made ready (rte_pktmbuf_init) before they are put
 * into it. So the pool can grow while other threads take packets from it.
 */
#undef RTE_USE_C11_MEM_MODEL
#define RTE_USE_C11_MEM_MODEL 1 /* orders that ThreadSanitizer understands */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "../api.h"
#include "internal.h"
#include "ring_count.h"

static int make(struct rte_mempool *mp)
{
  char name[RTE_RING_NAMESIZE];
  snprintf(name, sizeof name, "pg_%s", mp->name);
  struct rte_ring *ring =
    rte_ring_create(name, rte_align32pow2(mp->size + 1), mp->socket_id, 0);
  mp->pool_data = ring;
  return ring ? 0 : -rte_errno;
}

static void unmake(struct rte_mempool *mp)
{
  rte_ring_free(mp->pool_data);
}

static int put(struct rte_mempool *mp, void *const *packets, unsigned n)
{
  return rte_ring_mp_enqueue_bulk(mp->pool_data, packets, n, NULL) ? 0 : -ENOBUFS;
}

static _Thread_local int32_t allowed = -1;
static _Thread_local bool refused;

void pg_pool_allow(int32_t packets)
{
  allowed = packets;
}

bool pg_pool_refused(void)
{
  bool was = refused;
  refused = false;
  return was;
}

static int take(struct rte_mempool *mp, void **packets, unsigned n)
{
  return rte_ring_mc_dequeue_bulk(mp->pool_data, packets, n, NULL) ? 0 : -ENOBUFS;
}

static int get(struct rte_mempool *mp, void **packets, unsigned n)
{
  int status = -ENOBUFS;
  if (likely(allowed < 0 || (int64_t)n <= allowed)) {
    allowed -= allowed < 0 ? 0 : (int32_t)n;
    status = take(mp, packets, n);
    if (unlikely(status < 0) && pg_pool_add(mp, n))
      status = take(mp, packets, n);
  }
  refused = status < 0;
  return status;
}

static unsigned count(const struct rte_mempool *mp)
{
  return pg_ring_count(mp->pool_data);
}

struct added {
  rte_mempool_populate_obj_cb_t *note;
  void *arg;
  unsigned n;
};

static void add(struct rte_mempool *mp, void *arg, void *packet, rte_iova_t iova)
{
  struct added *added = arg;
  added->note(mp, added->arg, packet, iova);
  rte_pktmbuf_init(mp, NULL, packet, added->n++);
  pg_guard(packet);
}

static int populate(struct rte_mempool *mp, unsigned most, void *memory,
                    rte_iova_t iova, size_t bytes,
                    rte_mempool_populate_obj_cb_t *note, void *arg)
{
  struct added added = {note, arg, 0};
  return rte_mempool_op_populate_helper(mp, 0, most, memory, iova, bytes, add,
                                        &added);
}

static const struct rte_mempool_ops packet_ops = {
  .name = PG_PACKET_OPS, .alloc = make, .free = unmake, .enqueue = put,
  .dequeue = get, .get_count = count, .populate = populate};

RTE_MEMPOOL_REGISTER_OPS(packet_ops);
