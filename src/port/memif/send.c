/* SPDX-License-Identifier: Apache-2.0
 *
 * Bursts into a memif peer's rings, by copying (ring.h). A client doesn't read what it
 * wrote itself: where its buffers are it knows.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_atomic.h>
#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include "../../native/first_line.h"
#include "ring.h"

/* Slots that a packet can be put into. */
static inline uint32_t vacant(struct session *s, const struct ring *r)
{
  uint16_t n = s->serves ? load(&r->shared->head) - r->tail
                         : r->head - load(&r->shared->tail);
  if (unlikely(n > r->size)) {
    tell(s, FAULT_RING_CURSOR);
    return 0;
  }
  return s->serves ? n : r->size - n;
}

static inline bool find_room(struct session *s, const struct ring *r, uint16_t i,
                             struct slot *slot)
{
  if (s->serves)
    return look(s, r, i, slot);
  uint32_t offset = r->first + (i & (r->size - 1)) * s->buffer;
  *slot = (struct slot){.at = s->region[0].at + offset, .length = s->buffer};
  return true;
}

static inline void write_slot(const struct session *s, const struct ring *r, uint16_t i,
                              const struct slot *slot, uint32_t length, bool goes_on)
{
  struct memif_descriptor *d = &r->descriptors[i & (r->size - 1)];
  if (!s->serves)
    d->where = r->first + (i & (r->size - 1)) * s->buffer;
  d->what = (uint64_t)length << 32 | (uint32_t)slot->region << 16 |
            (goes_on ? MEMIF_NEXT : 0);
}

/* Copy a packet into slots from `i` on, of `room`; how many it takes, 0: there are too
 * few, or one lies. */
static inline uint32_t scatter(struct session *s, const struct ring *r, uint16_t i,
                               uint32_t room, const struct rte_mbuf *m)
{
  const uint8_t *from = rte_pktmbuf_mtod(m, const uint8_t *);
  uint32_t left = m->data_len;
  struct slot slot;
  for (uint32_t n = 1; n <= RTE_MIN(room, (uint32_t)MOST_SLOTS); n++, i++) {
    if (unlikely(!find_room(s, r, i, &slot)))
      return 0;
    uint32_t length = RTE_MIN(left, slot.length);
    rte_memcpy(slot.at, from, length);
    from += length;
    left -= length;
    write_slot(s, r, i, &slot, length, left > 0);
    if (likely(left == 0))
      return n;
  }
  if (room >= MOST_SLOTS)
    tell(s, FAULT_CHAIN);
  return 0;
}

static void wake(const struct ring *r)
{
  rte_smp_mb(); /* the cursor is written before the flag is read */
  if (unlikely(!(__atomic_load_n(&r->shared->flags, __ATOMIC_RELAXED) & MEMIF_QUIET)))
    pg_memif_wake(r->bell);
}

/* How many were taken; one for which the whole ring has no room never will, and is lost. */
static uint16_t send_ring(struct session *s, struct ring *r, struct rte_mbuf **packets,
                          uint16_t n, struct lane *lane)
{
  uint32_t room = vacant(s, r), used = 0;
  uint16_t *cursor = s->serves ? &r->tail : &r->head, done = 0;
  for (; done < n && used < room; done++) {
    uint32_t slots = scatter(s, r, *cursor + used, room - used, packets[done]);
    if (likely(slots > 0)) {
      lane->bytes += packets[done]->data_len;
      lane->packets++;
    } else if (atomic_load(&s->fault) || used > 0 || room < r->size) {
      break;
    } else {
      lane->errors++;
    }
    used += slots;
  }
  *cursor += used;
  if (used > 0) {
    publish(s->serves ? &r->shared->tail : &r->shared->head, *cursor);
    wake(r);
  }
  return done;
}

static uint16_t send_lane(struct memif *m, uint16_t i, struct rte_mbuf **packets,
                          uint16_t n)
{
  struct lane *lane = &m->send[i];
  struct session *s = enter(lane);
  if (!s)
    return 0;
  uint16_t done = i < s->sends ? send_ring(s, &s->send[i], packets, n, lane) : 0;
  is_whole(s);
  leave(lane);
  pg_give_packets(packets, done);
  return done;
}

/* How many rings there are to send by, just now. */
static uint16_t sends_of(struct memif *m)
{
  struct session *s = enter(&m->send[0]);
  uint16_t n = s ? s->sends : 0;
  if (s)
    leave(&m->send[0]);
  return n;
}

/* A flow's packets go by one ring: of `rings` in all those from `first` on, at this
 * distance. Those that weren't taken are at the end then. */
static uint16_t spread(struct memif *m, struct rte_mbuf **packets, uint16_t n,
                       uint16_t rings, uint16_t first, uint16_t step)
{
  struct rte_mbuf *all[PORT_BURST], *some[PORT_BURST], *left[PORT_BURST];
  uint8_t to[PORT_BURST];
  uint16_t n_left = 0, count = (rings - first + step - 1) / step;
  for (uint16_t i = 0; i < n; i++) {
    to[i] = first + pg_flow_hash((struct packet *)packets[i]) % count * step;
    all[i] = packets[i];
  }
  for (uint16_t q = first; q < rings; q += step) {
    uint16_t k = 0;
    for (uint16_t i = 0; i < n; i++)
      if (to[i] == q)
        some[k++] = all[i];
    for (uint16_t i = k ? send_lane(m, q, some, k) : 0; i < k; i++)
      left[n_left++] = some[i];
  }
  for (uint16_t i = 0; i < n_left; i++)
    packets[n - n_left + i] = left[i];
  return n - n_left;
}

/* A worker of several sends by its own rings, if the peer has such. */
uint16_t pg_memif_send(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  struct memif *m = port->state;
  if (likely(m->options.queues == 1))
    return send_lane(m, 0, packets, n);
  uint16_t rings = sends_of(m), step = RTE_MAX(port->queues, 1);
  bool own = port->queue < rings;
  n = RTE_MIN(n, (uint16_t)PORT_BURST);
  return rings == 0 ? 0
                    : spread(m, packets, n, rings, own ? port->queue : 0, own ? step : 1);
}
