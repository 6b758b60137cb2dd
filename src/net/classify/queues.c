/* SPDX-License-Identifier: Apache-2.0
 *
 * Receive queues of software. Who received last is known by the time of the last poll:
 * packets of a queue that is polled wait in the device while its ring is full, and those
 * of one that isn't are lost.
 */
#include <stdbool.h>
#include <stdint.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "../../native/api.h"
#include "queues.h"

/* Who asked within this time will ask again: its packets are kept, and wait in the
 * device if there is no more room for them. */
#define AWAKE_SECONDS 1.0

/* So long after its device was configured, nobody may have come to ask yet. */
#define NEW_SECONDS 0.5

enum { MOST_ASLEEP = 256 };
enum { BUCKETS = 128 }; /* of a card's table from hashes to queues */

static bool is_awake(const struct pg_soft_queues *s, const struct pg_soft_queue *q,
                     uint64_t now)
{
  uint64_t hz = rte_get_tsc_hz(), polled = __atomic_load_n(&q->polled, __ATOMIC_RELAXED);
  if (!polled)
    return now - s->made_at < (uint64_t)(NEW_SECONDS * hz);
  return (int64_t)(now - polled) < (int64_t)(AWAKE_SECONDS * hz); /* or just now */
}

/* Packets that a queue may keep. */
static uint32_t most_kept(const struct pg_soft_queues *s, const struct pg_soft_queue *q,
                          uint64_t now)
{
  if (!s->lent || (q->polled && is_awake(s, q, now)))
    return rte_ring_get_capacity(q->ring);
  return MOST_ASLEEP;
}

/* Have the rings of all queues but number `own` room for a burst, if they are emptied or
 * may soon be? */
bool pg_soft_queues_have_room(const struct pg_soft_queues *s, int32_t own, uint32_t burst,
                              uint64_t now)
{
  for (int32_t i = 0; i < s->n; i++) {
    const struct pg_soft_queue *q = s->list[i];
    if (i != own && rte_ring_count(q->ring) + burst > most_kept(s, q, now) &&
        is_awake(s, q, now))
      return false;
  }
  return true;
}

/* Note when these were received, for apps and scripts that ask. */
void pg_stamp(struct packet **packets, uint32_t n, uint64_t tsc)
{
  for (uint32_t i = 0; i < n; i++)
    packets[i]->timestamp = tsc;
}

/* Put the packet into the ring of queue number `to`; it is freed and counted if that has
 * no room. */
void pg_soft_queues_put(const struct pg_soft_queues *s, int32_t to, struct packet *p,
                        uint64_t now)
{
  struct pg_soft_queue *q = s->list[to];
  if (q->stamps)
    pg_stamp(&p, 1, now);
  if (rte_ring_count(q->ring) >= most_kept(s, q, now) || rte_ring_enqueue(q->ring, p) < 0) {
    __atomic_fetch_add(&q->missed, 1, __ATOMIC_RELAXED); /* who has other sources, too */
    rte_pktmbuf_free((struct rte_mbuf *)p);
  }
}

/* The queue that a packet is for: by the first rule that holds, else by the hash of its
 * addresses and ports. Less than 0: none. */
static int32_t queue_for(const struct pg_soft_queues *s, const struct packet *p)
{
  const struct pg_rule *rule = pg_rules_find(&s->rules, p);
  if (rule)
    return rule->queue;
  if (s->rss_queues < 2)
    return s->rss_base;
  return s->rss_base + pg_flow_hash(p) % BUCKETS % s->rss_queues;
}

/* Sort a burst: those for queue number `own` go to `packets`, which has room for all: how
 * many. The others go into their queues' rings, and what is for none is freed. */
uint32_t pg_soft_queues_sort(const struct pg_soft_queues *s, int32_t own,
                             struct packet **burst, uint32_t n, struct packet **packets,
                             uint64_t now)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < n; i++) {
    int32_t to = queue_for(s, burst[i]);
    if (to == own)
      packets[kept++] = burst[i];
    else if (to >= 0 && to < s->n)
      pg_soft_queues_put(s, to, burst[i], now);
    else
      rte_pktmbuf_free((struct rte_mbuf *)burst[i]);
  }
  if (s->list[own]->stamps)
    pg_stamp(packets, kept, now);
  return kept;
}
