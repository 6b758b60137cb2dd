/* SPDX-License-Identifier: Apache-2.0
 *
 * Passages: links between two workers. Each worker has a link of its own to its
 * apps, and an rte_ring of one producer and one consumer is between them. What
 * the ring has no room for stays in the sender's link.
 */
#undef RTE_USE_C11_MEM_MODEL
#define RTE_USE_C11_MEM_MODEL 1 /* orders that ThreadSanitizer understands */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/membarrier.h>

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "../api.h"
#include "../link_cursors.h"
#include "clock.h"
#include "internal.h"
#include "ring_count.h"

enum { MASK = LINK_RING_SIZE - 1, DRAINED_AT_ONCE = 256 };

struct passage {
  int32_t closed;   /* nobody receives */
  int32_t bell;     /* to be rung for the receiver, which sleeps; 0: it doesn't */
  uint64_t dropped; /* by the sender, for that */
  struct rte_ring ring __rte_cache_aligned;
};

static atomic_int barriers; /* membarrier(2): 1: the kernel can, -1: it can't */

static void begin_barriers(void)
{
  bool can = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  atomic_store(&barriers, can ? 1 : -1);
}

/* A passage with room for `size` packets, a power of two, in memory of the NUMA
 * node (-1: any); NULL if there is no memory. */
struct passage *pg_passage_new(uint32_t size, int32_t node)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  ssize_t bytes = rte_ring_get_memsize(size);
  pthread_once(&once, begin_barriers);
  struct passage *p = bytes < 0 ? NULL
                                : rte_zmalloc_socket("passage",
                                                     offsetof(struct passage, ring) + bytes,
                                                     RTE_CACHE_LINE_SIZE, node);
  if (p)
    rte_ring_init(&p->ring, "passage", size, RING_F_SP_ENQ | RING_F_SC_DEQ);
  else
    pg_fail("no memory for a ring of %u packets between two workers", size);
  return p;
}

/* Free it; nobody may use it, and it must be empty. */
void pg_passage_free(struct passage *p)
{
  rte_free(p);
}

/* From now on what is sent is dropped (or isn't, any more). */
void pg_passage_close(struct passage *p, bool closed)
{
  __atomic_store_n(&p->closed, closed, __ATOMIC_RELEASE);
}

/* Packets in the ring; and dropped, as nobody receives. */
uint32_t pg_passage_waiting(const struct passage *p)
{
  return pg_ring_count(&p->ring);
}

uint64_t pg_passage_dropped(const struct passage *p)
{
  return __atomic_load_n(&p->dropped, __ATOMIC_RELAXED);
}

/* The packets at slot `from`, up to the ring's end and to `n`. */
static inline uint32_t piece(uint32_t cursor, uint32_t n)
{
  return RTE_MIN(n, LINK_RING_SIZE - (cursor & MASK));
}

/* Free packets, as the app of the account would. */
static void lose(struct freelist *account, struct packet **packets, uint32_t n)
{
  struct rte_mbuf **mbufs = (struct rte_mbuf **)packets;
  for (uint32_t i = 0; i < n; i++) {
    struct sums sums = pg_sum(&mbufs[i], 1);
    account->frees++;
    account->freebytes += sums.bytes;
    account->freebits += sums.bits;
    account->spilled++;
    rte_pktmbuf_free(mbufs[i]);
  }
}

static void drop_all(struct freelist *account, struct passage *p, struct link *link)
{
  uint32_t n;
  while ((n = piece(link->read, waiting(link))) > 0) {
    struct packet **from = &link->packets[link->read & MASK];
    link->rxbytes += length_of(from, n);
    lose(account, from, n);
    __atomic_store_n(&p->dropped, p->dropped + n, __ATOMIC_RELAXED);
    taken(link, n);
  }
}

/* What this thread wrote before, the others see that call wake_receiver() later, or it
 * sees what they wrote before: at no cost for them, as the kernel does it. */
static void meet_others(void)
{
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load(&barriers) > 0)
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/* Let the thread that sends wake this one when something comes (`on`), or no more. What
 * was sent before it sees this is in the ring by the next look. */
void pg_passage_notify(struct passage *p, bool on)
{
  __atomic_store_n(&p->bell, on ? pg_wait_bell() : 0, __ATOMIC_RELEASE);
  if (on)
    meet_others();
}

static inline void wake_receiver(struct passage *p)
{
  if (unlikely(atomic_load_explicit(&barriers, memory_order_relaxed) < 0))
    atomic_thread_fence(memory_order_seq_cst);
  atomic_signal_fence(memory_order_seq_cst);
  if (unlikely(__atomic_load_n(&p->bell, __ATOMIC_RELAXED) > 0))
    pg_wait_ring(__atomic_exchange_n(&p->bell, 0, __ATOMIC_ACQ_REL));
}

/* Move what is in the link into the ring; how many packets that were. */
int pg_passage_send(struct freelist *account, struct passage *p, struct link *link)
{
  int sent = 0;
  uint32_t n;
  if (unlikely(__atomic_load_n(&p->closed, __ATOMIC_ACQUIRE))) {
    drop_all(account, p, link);
    return 0;
  }
  while ((n = piece(link->read, waiting(link))) > 0) {
    struct packet **from = &link->packets[link->read & MASK];
    uint64_t bytes = length_of(from, n);
    uint32_t moved = rte_ring_sp_enqueue_burst(&p->ring, (void **)from, n, NULL);
    if (moved < n)
      bytes -= length_of(from + moved, n - moved);
    link->rxbytes += bytes;
    taken(link, moved);
    account->handed += moved;
    sent += moved;
    if (moved < n)
      break;
  }
  if (sent > 0)
    wake_receiver(p);
  return sent;
}

/* Move packets out of the ring into the link, up to `most`; how many. */
int pg_passage_receive(struct freelist *account, struct passage *p,
                       struct link *link, uint32_t most)
{
  uint32_t want = RTE_MIN(LINK_MAX_PACKETS - waiting(link), most);
  uint32_t n = 0, part, got;
  while (n < want) {
    part = piece((uint32_t)link->write, want - n);
    got = rte_ring_sc_dequeue_burst(
      &p->ring, (void **)&link->packets[(uint32_t)link->write & MASK], part, NULL);
    link->write = (int32_t)((uint32_t)link->write + got);
    n += got;
    if (got < part)
      break;
  }
  set_limit(link);
  account->taken += n;
  return n;
}

/* Free what is in the ring, as its receiver, which mustn't be at work; how many. */
int pg_passage_drain(struct freelist *account, struct passage *p)
{
  struct packet *packets[DRAINED_AT_ONCE];
  int total = 0;
  uint32_t n;
  while ((n = rte_ring_sc_dequeue_burst(&p->ring, (void **)packets,
                                        DRAINED_AT_ONCE, NULL)) > 0) {
    account->taken += n;
    lose(account, packets, n);
    total += n;
  }
  return total;
}
