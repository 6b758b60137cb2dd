/* SPDX-License-Identifier: Apache-2.0
 *
 * Bursts out of netmap's rings, and into them (netmap(4)), by copying: a packet of
 * Perigee's is DPDK's, a buffer of netmap's belongs to its slot. The kernel is called
 * once a burst, to receive only if there isn't one in the ring already.
 */
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>
#include <rte_prefetch.h>

#include "../../native/api.h"
#include "../../native/driver.h"
#include "../../net/gso/layers.h"
#include "state.h"

static inline uint32_t next(const struct netmap_queue *q, uint32_t i)
{
  return unlikely(i + 1 >= q->slots) ? 0 : i + 1;
}

/* Slots that are the program's: so many from `first` on. */
struct span {
  uint32_t first, slots;
};

/* Head and tail are read once: who shares the ring may change them at any time. Where
 * one can't be there is nothing. */
static inline struct span available(const struct netmap_queue *q)
{
  uint32_t head = __atomic_load_n(&q->ring->head, __ATOMIC_RELAXED);
  uint32_t tail = __atomic_load_n(&q->ring->tail, __ATOMIC_ACQUIRE);
  if (unlikely(head >= q->slots || tail >= q->slots))
    return (struct span){0, 0};
  return (struct span){head, tail >= head ? tail - head : tail + q->slots - head};
}

static inline uint8_t *buffer(const struct netmap_queue *q, uint32_t index)
{
  return q->buffers + (size_t)index * q->buffer_bytes;
}

static inline void move_on(struct netmap_queue *q, uint32_t head, uint32_t slots)
{
  q->released += slots;
  q->ring->cur = head;
  q->ring->head = head;
}

/* Receive ------------------------------------------------------------------------ */

enum verdict { GOOD, TOO_LONG, BAD };

/* A frame in the ring, looked at once. */
struct frame {
  uint32_t slots, bytes;
  enum verdict verdict;
};

/* The frame that begins in slot `i`, of `left` that are there; 0 slots if it isn't there
 * to its end. One that fills the ring without an end is as bad as it is long. */
static struct frame look(const struct netmap_queue *q, uint32_t i, uint32_t left)
{
  struct frame f = {.verdict = GOOD};
  bool goes_on = true;
  while (goes_on && f.slots < left && f.slots < NETMAP_MOST_FRAGMENTS) {
    const volatile struct netmap_slot *slot = &q->ring->slot[i];
    uint32_t length = slot->len;
    if (length > q->buffer_bytes || slot->buf_idx > q->most_index)
      f.verdict = BAD;
    f.bytes += length;
    f.slots++;
    goes_on = slot->flags & NETMAP_GOES_ON;
    i = next(q, i);
  }
  if (goes_on && f.slots < NETMAP_MOST_FRAGMENTS && left + 1 < q->slots)
    f.slots = 0;
  else if (goes_on || f.bytes < ETHERNET_HEADER)
    f.verdict = BAD;
  if (f.verdict == GOOD && f.bytes > PACKET_MAX_PAYLOAD)
    f.verdict = TOO_LONG;
  return f;
}

/* Copy its slots, from `i` on; false if they changed since they were looked at. */
static bool copy_out(const struct netmap_queue *q, uint32_t i, const struct frame *f,
                     struct rte_mbuf *m)
{
  uint8_t *to = rte_pktmbuf_mtod(m, uint8_t *);
  uint32_t bytes = 0;
  for (uint32_t k = 0; k < f->slots; k++, i = next(q, i)) {
    const volatile struct netmap_slot *slot = &q->ring->slot[i];
    uint32_t length = slot->len, index = slot->buf_idx;
    if (unlikely(length > q->buffer_bytes || index > q->most_index ||
                 bytes + length > f->bytes))
      return false;
    rte_memcpy(to + bytes, buffer(q, index), length);
    bytes += length;
  }
  m->data_len = m->pkt_len = bytes;
  return bytes == f->bytes;
}

static void drop(struct port *port, enum verdict verdict)
{
  struct netmap_port *s = port->state;
  if (verdict == BAD)
    s->counts.ierrors++;
  else
    port_drop_long(port);
}

/* Up to `n` packets of this ring into `packets`, which are allocated. */
static uint16_t take(struct port *port, struct netmap_queue *q, struct rte_mbuf **packets,
                     uint16_t n, struct span there)
{
  struct netmap_port *s = port->state;
  uint32_t i = there.first, left = there.slots;
  uint16_t got = 0;
  while (got < n && left > 0) {
    struct frame f = look(q, i, left);
    if (f.slots == 0)
      break;
    if (f.verdict == GOOD && !copy_out(q, i, &f, packets[got]))
      f.verdict = BAD;
    if (likely(f.verdict == GOOD)) {
      s->counts.ibytes += f.bytes;
      got++;
    } else {
      drop(port, f.verdict);
    }
    left -= f.slots;
    i += f.slots;
    i -= i >= q->slots ? q->slots : 0;
  }
  s->counts.ipackets += got;
  move_on(q, i, there.slots - left);
  return got;
}

/* Allocate packets for what is there, and take it. */
static uint16_t receive_from(struct port *port, struct netmap_queue *q,
                             struct rte_mbuf **packets, uint16_t n)
{
  struct span there = available(q);
  uint16_t most = RTE_MIN(there.slots, (uint32_t)n);
  while (most > 0 && rte_pktmbuf_alloc_bulk(port->pool, packets, most) < 0)
    most /= 2; /* the rest waits in the ring */
  if (most == 0)
    return 0;
  uint16_t got = take(port, q, packets, most, there);
  rte_pktmbuf_free_bulk(packets + got, most - got);
  return got;
}

/* Is there less than a burst, or has the kernel less than half a ring to receive into? */
static bool needs_sync(const struct netmap_port *s, uint16_t n)
{
  uint32_t there = 0;
  for (uint32_t i = 0; i < s->rings; i++) {
    there += available(&s->receive[i]).slots;
    if (s->receive[i].released >= s->receive[i].slots / 2)
      return true;
  }
  return there < n;
}

uint16_t pg_netmap_receive(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  struct netmap_port *s = port->state;
  uint16_t got = 0;
  if (needs_sync(s, n) && pg_netmap_sync(s, NIOCRXSYNC) == 0)
    for (uint32_t i = 0; i < s->rings; i++)
      s->receive[i].released = 0;
  for (uint32_t i = 0; i < s->rings && got < n; i++) {
    got += receive_from(port, &s->receive[s->turn], packets + got, n - got);
    s->turn = s->turn + 1 >= s->rings ? 0 : s->turn + 1;
  }
  return got;
}

/* Send --------------------------------------------------------------------------- */

/* Copy packets into slots, as many as there is room for. */
static uint16_t fill(struct netmap_port *s, struct rte_mbuf **packets, uint16_t n)
{
  struct netmap_queue *q = &s->send;
  struct span room = available(q);
  uint32_t used = 0, i = room.first;
  uint16_t done = 0;
  for (; done < n && used < room.slots; done++) {
    const struct rte_mbuf *m = packets[done];
    volatile struct netmap_slot *slot = &q->ring->slot[i];
    uint32_t index = slot->buf_idx;
    if (unlikely(m->data_len > q->buffer_bytes || index > q->most_index)) {
      s->counts.oerrors++;
      continue;
    }
    rte_memcpy(buffer(q, index), rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
    slot->len = m->data_len;
    slot->flags = 0;
    s->counts.opackets++;
    s->counts.obytes += m->data_len;
    used++;
    i = next(q, i);
  }
  move_on(q, i, used);
  return done;
}

uint16_t pg_netmap_send(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  struct netmap_port *s = port->state;
  uint16_t done = fill(s, packets, n);
  pg_netmap_sync(s, NIOCTXSYNC);
  if (unlikely(done < n)) { /* there may be room now */
    uint16_t more = fill(s, packets + done, n - done);
    if (more > 0)
      pg_netmap_sync(s, NIOCTXSYNC);
    done += more;
  }
  rte_pktmbuf_free_bulk(packets, done);
  return done;
}
