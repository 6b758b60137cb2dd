/* SPDX-License-Identifier: Apache-2.0
 *
 * Rings of packets between threads.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "../api.h"
#include "../host.h"
#include "../packet_ring.h"

/* A ring for `size` packets, of one thread that sends and one that receives; `shared`: any
 * number does, and `size` is a power of two, of which one place stays empty. NULL and
 * pg_error(): no memory. */
void *pg_packet_ring_new(uint32_t size, int32_t socket, bool shared)
{
  static atomic_uint number;
  char name[RTE_RING_NAMESIZE];
  snprintf(name, sizeof name, "packets_%u", number++);
  void *ring = rte_ring_create(name, size, pg_numa_memory(socket),
                               shared ? 0 : RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
  if (!ring)
    pg_fail("no memory for a ring of %u packets: %s", size, rte_strerror(rte_errno));
  return ring;
}

/* Free it with what is in it: how many packets. NULL is none. */
uint32_t pg_packet_ring_free(void *ring)
{
  struct rte_mbuf *m;
  uint32_t n = 0;
  for (; ring && rte_ring_dequeue(ring, (void **)&m) == 0; n++)
    rte_pktmbuf_free(m);
  rte_ring_free(ring);
  return n;
}

/* Put all of them in, or none: how many. */
int32_t pg_packet_ring_put(void *ring, struct packet **packets, uint32_t n)
{
  return rte_ring_enqueue_bulk(ring, (void **)packets, n, NULL);
}

/* Take up to `n`: how many. */
int32_t pg_packet_ring_take(void *ring, struct packet **packets, uint32_t n)
{
  return rte_ring_dequeue_burst(ring, (void **)packets, n, NULL);
}

uint32_t pg_packet_ring_count(const void *ring)
{
  return rte_ring_count(ring);
}

uint32_t pg_packet_ring_room(const void *ring)
{
  return rte_ring_free_count(ring);
}
