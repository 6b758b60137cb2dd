/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools of buffers, as scripts make them. Each is a mempool of DPDK's of its own, so
 * that what a script has written into its buffers is still there when they come back.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "../../src/native/api.h"
#include "../../src/native/host.h"
#include "check.h"
#include "internal.h"

/* Buffers kept at hand for each thread (DPDK's cache), which are missing for others. When
 * a pool is empty, all threads give them back the next time they call anything. (Smaller
 * caches cost more: 10 % of a packet's time where they are a sixth.) */
static uint32_t cache_size(uint32_t n)
{
  if (n < 512)
    return 0;
  return n < 2047 ? RTE_MIN(n / 8, 256u) : 256;
}

uint32_t mg_caches_wanted;
_Thread_local uint32_t mg_caches_given;

void mg_give_caches(void)
{
  mg_caches_given = __atomic_load_n(&mg_caches_wanted, __ATOMIC_RELAXED);
  pg_pool_leave();
}

/* For who waits in Lua for what another task does. */
void mg_give_wanted_caches(void)
{
  mg_look_after_caches();
}

/* A mempool of DPDK's, the process's `number`th that scripts make, of `n` buffers of up to
 * `size` bytes, in memory of that socket (-1: any); NULL and pg_error(). It lives as long
 * as the process. */
void *mg_pool_make(uint32_t n, uint32_t size, int32_t socket, uint32_t number)
{
  char name[RTE_MEMPOOL_NAMESIZE];
  uint32_t room = RTE_PKTMBUF_HEADROOM + RTE_MAX(size, (uint32_t)MG_LEAST_ROOM);
  int32_t nodes[] = {pg_numa_memory(socket), SOCKET_ID_ANY};
  struct rte_mempool *pool = NULL;
  snprintf(name, sizeof name, "script_%u", number);
  atomic_store(&pg_other_packets, true);
  mg_checks = pg_checking(false);
  uint32_t notes = PACKET_NOTES + (mg_checks ? MG_NOTE_BYTES : 0);
  for (int i = 0; i < 2 && !pool; i++)
    pool = rte_pktmbuf_pool_create(name, n, cache_size(n), notes, room, nodes[i]);
  if (!pool) {
    pg_fail("no memory for a pool of %u buffers of %u bytes: %s", n, size,
            rte_strerror(rte_errno));
  } else if (mg_checks && !mg_note_all(pool, n)) {
    pg_fail("no memory to check a pool of %u buffers of %u bytes", n, size);
    rte_mempool_free(pool);
    pool = NULL;
  }
  return pool;
}

/* What rte_pktmbuf_reset() sets, but for what buffers in a pool have anyway (next) and
 * what nobody looks at without a flag (tx_offload). */
static inline void make_ready(struct rte_mbuf *m, uint32_t length)
{
  const uint64_t rearm = RTE_PKTMBUF_HEADROOM | 1ull << 16 | 1ull << 32 |
                         (uint64_t)MG_OWNED << 48;
  const uint64_t lengths = (uint64_t)length << 32;
  if (unlikely(m->packet_type == PG_TAGGED)) /* what a script wrote is to be there again */
    pg_offload_untag(m);
  memcpy(&m->data_off, &rearm, sizeof rearm);
  m->ol_flags = 0;
  memcpy(&m->packet_type, &lengths, sizeof lengths);
  m->data_len = length;
  m->vlan_tci = 0;
}

_Static_assert(offsetof(struct rte_mbuf, refcnt) == offsetof(struct rte_mbuf, data_off) + 2 &&
               offsetof(struct rte_mbuf, nb_segs) == offsetof(struct rte_mbuf, data_off) + 4 &&
               offsetof(struct rte_mbuf, port) == offsetof(struct rte_mbuf, data_off) + 6 &&
               offsetof(struct rte_mbuf, pkt_len) == offsetof(struct rte_mbuf, packet_type) + 4,
               "these fields are written together");

/* The pool is empty: its buffers may come back from devices and other tasks. */
static bool get_patiently(struct mempool *p, struct packet **to, uint32_t n)
{
  const double patience_s = 3, ask_s = 0.001;
  uint64_t hz = rte_get_tsc_hz(), now = rte_rdtsc(), asked = now;
  uint64_t end = now + (uint64_t)(patience_s * hz);
  __atomic_fetch_add(&mg_caches_wanted, 1, __ATOMIC_RELAXED);
  for (; now < end; now = rte_rdtsc()) {
    if (now - asked > (uint64_t)(ask_s * hz)) {
      __atomic_fetch_add(&mg_caches_wanted, 1, __ATOMIC_RELAXED);
      asked = now;
    }
    mg_look_after_caches(); /* another may be at this, too */
    sched_yield();
    if (rte_mempool_get_bulk(p->pool, (void **)to, n) == 0)
      return true;
  }
  return false;
}

/* Fill the array with `n` buffers of that length, all or none: 0, or -1 if the pool
 * has been without so many for some seconds, or has none of that length. */
int32_t mg_alloc(struct mempool *p, struct packet **to, uint32_t n, uint32_t length)
{
  if (unlikely(length > p->size) ||
      (unlikely(rte_mempool_get_bulk(p->pool, (void **)to, n) < 0) &&
       !get_patiently(p, to, n))) {
    memset(to, 0, n * sizeof *to);
    return -1;
  }
  for (uint32_t i = 0; i < n; i++)
    make_ready((struct rte_mbuf *)to[i], length);
  if (unlikely(mg_checks))
    mg_note_back((struct rte_mbuf **)to, n);
  return 0;
}

/* One buffer of that length, which isn't more than the pool's have, or NULL at once. */
struct packet *mg_alloc_now(struct mempool *p, uint32_t length)
{
  void *m = NULL;
  if (rte_mempool_get(p->pool, &m) < 0)
    return NULL;
  make_ready(m, length);
  if (unlikely(mg_checks))
    mg_note_back((struct rte_mbuf **)&m, 1);
  return m;
}

/* Give buffers back to the pools they are of; null pointers are left out. 0, or
 * MG_SENT_TWICE: then those from that one on aren't freed. */
int32_t mg_free(struct packet **bufs, uint32_t n)
{
  struct rte_mbuf *list[MG_BURST];
  mg_look_after_caches();
  uint32_t k = 0;
  int32_t fault = 0;
  for (uint32_t i = 0; i < n && !fault; i++) {
    struct rte_mbuf *m = (struct rte_mbuf *)bufs[i];
    if (!m)
      continue;
    if (unlikely(mg_is_gone(m))) {
      fault = MG_SENT_TWICE;
      break;
    }
    if (unlikely(mg_checks))
      mg_note_freed(m);
    mg_note_gone(m);
    list[k++] = m;
    if (k == MG_BURST) {
      rte_pktmbuf_free_bulk(list, k);
      k = 0;
    }
  }
  rte_pktmbuf_free_bulk(list, k);
  return fault;
}

int32_t mg_free_one(struct packet *p)
{
  return mg_free(&p, 1);
}
