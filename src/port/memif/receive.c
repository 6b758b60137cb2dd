/* SPDX-License-Identifier: Apache-2.0
 *
 * Bursts out of a memif peer's rings, by copying (ring.h).
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include "../../native/driver.h"
#include "../../native/first_line.h"
#include "ring.h"

/* Copy the packet that begins with slot `i`, which goes on, into `m`, as far as it is no
 * longer than packets can be. How many slots it has; 0: it isn't all there, or it lies.
 * `*bytes`: of the packet. */
static uint32_t gather(struct session *s, const struct ring *r, uint16_t i, uint32_t there,
                       struct rte_mbuf *m, uint64_t *bytes)
{
  uint8_t *to = rte_pktmbuf_mtod(m, uint8_t *);
  struct slot slot;
  *bytes = 0;
  for (uint32_t n = 1; n <= RTE_MIN(there, (uint32_t)MOST_SLOTS); n++, i++) {
    if (!look(s, r, i, &slot))
      return 0;
    if (*bytes + slot.length <= PACKET_MAX_PAYLOAD)
      rte_memcpy(to + *bytes, slot.at, slot.length);
    *bytes += slot.length;
    if (!slot.goes_on)
      return n;
  }
  if (there == r->size || there >= MOST_SLOTS)
    tell(s, FAULT_CHAIN);
  return 0;
}

/* Up to `n` packets of those `there` into `packets`, which are allocated. */
static uint16_t take(struct port *port, struct session *s, struct ring *r,
                     struct rte_mbuf **packets, uint16_t n, uint32_t there,
                     struct lane *lane)
{
  uint16_t got = 0, i = s->serves ? r->tail : r->head;
  struct slot slot;
  while (got < n && there > 0) {
    struct rte_mbuf *m = packets[got];
    uint32_t slots = 1;
    uint64_t bytes;
    if (unlikely(!look(s, r, i, &slot)))
      break;
    if (likely(!slot.goes_on && slot.length <= PACKET_MAX_PAYLOAD)) {
      rte_memcpy(rte_pktmbuf_mtod(m, uint8_t *), slot.at, slot.length);
      bytes = slot.length;
    } else if ((slots = gather(s, r, i, there, m, &bytes)) == 0) {
      break;
    }
    i += slots;
    there -= slots;
    if (unlikely(bytes > PACKET_MAX_PAYLOAD)) {
      port_drop_long(port);
      continue;
    }
    m->data_len = m->pkt_len = bytes;
    lane->bytes += bytes;
    got++;
  }
  lane->packets += got;
  *(s->serves ? &r->tail : &r->head) = i;
  return got;
}

/* Descriptors that hold packets. Of a client's ring, `head` is as far as it has taken
 * them, and `tail` as far as it has given buffers away. */
static inline uint32_t waiting(struct session *s, const struct ring *r)
{
  uint16_t n = s->serves ? load(&r->shared->head) - r->tail
                         : load(&r->shared->tail) - r->head;
  uint16_t most = s->serves ? r->size : (uint16_t)(r->tail - r->head);
  if (likely(n <= most))
    return n;
  tell(s, FAULT_RING_CURSOR);
  return 0;
}

/* Give the server all buffers that it hasn't. */
static void refill(struct session *s, struct ring *r)
{
  uint16_t full = r->head + r->size;
  if (r->tail == full)
    return;
  for (uint16_t i = r->tail; i != full; i++) {
    uint32_t k = i & (r->size - 1);
    r->descriptors[k].what = (uint64_t)s->buffer << 32;
    r->descriptors[k].where = r->first + k * s->buffer;
  }
  r->tail = full;
  publish(&r->shared->head, full);
}

static uint16_t receive_ring(struct port *port, struct session *s, struct ring *r,
                             struct rte_mbuf **packets, uint16_t n, struct lane *lane)
{
  uint32_t there = waiting(s, r);
  uint16_t most = RTE_MIN(there, (uint32_t)n), got = 0;
  while (most > 0 && !pg_take_packets(port->pool, packets, most))
    most /= 2; /* the rest waits in the ring */
  if (most > 0) {
    got = take(port, s, r, packets, most, there, lane);
    if (unlikely(got < most))
      rte_pktmbuf_free_bulk(packets + got, most - got);
    if (s->serves)
      publish(&r->shared->tail, r->tail);
  }
  if (!s->serves)
    refill(s, r);
  return got;
}

static uint16_t receive_lane(struct port *port, uint16_t i, struct rte_mbuf **packets,
                             uint16_t n)
{
  struct memif *m = port->state;
  struct lane *lane = &m->receive[i];
  struct session *s = enter(lane);
  uint16_t got = 0;
  if (!s)
    return 0;
  if (i < s->receives)
    got = receive_ring(port, s, &s->receive[i], packets, n, lane);
  if (unlikely(!is_whole(s))) { /* what was copied may be zeros */
    rte_pktmbuf_free_bulk(packets, got);
    lane->packets -= got;
    got = 0;
  }
  lane->errors += atomic_load_explicit(&s->fault, memory_order_relaxed) != FAULT_NONE;
  leave(lane);
  return got;
}

/* Of several workers with one port, each has every so manyth queue. */
uint16_t pg_memif_receive(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  const struct memif *m = port->state;
  uint16_t step = RTE_MAX(port->queues, 1), got = 0;
  if (likely(m->options.queues == 1))
    return receive_lane(port, 0, packets, n);
  uint16_t lanes = (m->options.queues - port->queue + step - 1) / step;
  for (uint16_t k = 0; k < lanes && got < n; k++)
    got += receive_lane(port, port->queue + (port->turn + k) % lanes * step, packets + got,
                        n - got);
  port->turn = (port->turn + 1) % lanes;
  return got;
}
