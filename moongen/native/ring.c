/* SPDX-License-Identifier: Apache-2.0
 *
 * Rings of packets between tasks.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_ring.h>

#include "../../src/native/host.h"
#include "internal.h"

/* A ring for `size` packets, of one task that sends and one that receives. */
void *mg_ring_new(uint32_t size, int32_t socket)
{
  static atomic_uint number;
  char name[RTE_RING_NAMESIZE];
  snprintf(name, sizeof name, "pipe_%u", number++);
  return rte_ring_create(name, size, pg_numa_memory(socket),
                         RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
}

void mg_ring_free(void *ring)
{
  struct rte_mbuf *m;
  while (rte_ring_dequeue(ring, (void **)&m) == 0)
    rte_pktmbuf_free(m);
  rte_ring_free(ring);
}

/* Put all of them in, or none: how many. */
int32_t mg_ring_put(void *ring, struct packet **bufs, uint32_t n)
{
  return rte_ring_enqueue_bulk(ring, (void **)bufs, n, NULL);
}

/* Take up to `n`: how many. */
int32_t mg_ring_take(void *ring, struct packet **bufs, uint32_t n)
{
  mg_look_after_caches();
  return rte_ring_dequeue_burst(ring, (void **)bufs, n, NULL);
}

uint32_t mg_ring_count(const void *ring)
{
  return rte_ring_count(ring);
}

uint32_t mg_ring_room(const void *ring)
{
  return rte_ring_free_count(ring);
}
