/* SPDX-License-Identifier: Apache-2.0
 *
 * Pipes between tasks: queues of pointers that grow, and rings of packets.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ring.h>

#include "../../src/native/api.h"
#include "../../src/native/host.h"
#include "internal.h"

struct real_pipe {
  struct mg_pipe seen;
  pthread_mutex_t mutex;
  void **slots;
  uint64_t size, first;
  _Atomic uint64_t count; /* read without the lock: is there anything at all? */
  uint64_t asked;         /* the size it was made with */
};

struct mg_pipe *mg_pipe_new(uint32_t size)
{
  struct real_pipe *p = calloc(1, sizeof *p);
  pthread_mutex_init(&p->mutex, NULL);
  p->asked = p->size = size ? size : 1;
  p->slots = calloc(p->size, sizeof *p->slots);
  return &p->seen;
}

void mg_pipe_free(struct mg_pipe *seen)
{
  struct real_pipe *p = (struct real_pipe *)seen;
  pthread_mutex_destroy(&p->mutex);
  free(p->slots);
  free(p);
}

static void grow(struct real_pipe *p)
{
  void **slots = calloc(2 * p->size, sizeof *slots);
  uint64_t behind = p->size - p->first;
  memcpy(slots, p->slots + p->first, behind * sizeof *slots);
  memcpy(slots + behind, p->slots, p->first * sizeof *slots);
  free(p->slots);
  p->slots = slots;
  p->first = 0;
  p->size *= 2;
}

/* Put a pointer in; 0 if there is no room, and it isn't to `may_grow`. */
int32_t mg_pipe_put(struct mg_pipe *seen, void *data, int32_t may_grow)
{
  struct real_pipe *p = (struct real_pipe *)seen;
  pthread_mutex_lock(&p->mutex);
  uint64_t n = p->count;
  bool fits = n < (may_grow ? p->size : p->asked);
  if (!fits && may_grow)
    grow(p);
  if (fits || may_grow) {
    p->slots[(p->first + n) % p->size] = data;
    p->count = n + 1;
  }
  pthread_mutex_unlock(&p->mutex);
  return fits || may_grow;
}

/* The first pointer, or NULL. */
void *mg_pipe_take(struct mg_pipe *seen)
{
  struct real_pipe *p = (struct real_pipe *)seen;
  void *data = NULL;
  mg_look_after_caches();
  if (atomic_load_explicit(&p->count, memory_order_acquire) == 0)
    return NULL;
  pthread_mutex_lock(&p->mutex);
  if (p->count > 0) {
    data = p->slots[p->first];
    p->first = (p->first + 1) % p->size;
    p->count--;
  }
  pthread_mutex_unlock(&p->mutex);
  return data;
}

uint64_t mg_pipe_count(struct mg_pipe *seen)
{
  return ((struct real_pipe *)seen)->count;
}

/* Rings of packets -------------------------------------------------------------- */

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
