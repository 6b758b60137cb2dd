/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue of packets from one process to another: their bytes in a ring of slots in
 * shared memory (snabb/lib/interlink.lua says who may do what when). A packet of up to
 * SLOT - 4 bytes takes a slot, a longer one several that follow each other; behind
 * the last slot is room for the rest of one that begins there. The stride isn't a
 * power of two: then all packets would compete for a few sets of the cache.
 *
 * The other process may write anywhere in it, so a side keeps its own cursors and the
 * ring's size for itself, and checks what it reads. After a lie the queue is empty to
 * the receiver, and full to the transmitter.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>
#include <rte_prefetch.h>

#include "../../src/native/api.h"
#include "../../src/native/host.h"
#include "snabb.h"

enum {
  SLOT = INTERLINK_SLOT,
  PREFIX = 4, /* bytes before a packet: its length */
  AHEAD = 8   /* packets, that memory is asked for */
};

static inline uint64_t get(const uint64_t *cursor)
{
  return __atomic_load_n(cursor, __ATOMIC_ACQUIRE);
}

static inline void publish(uint64_t *cursor, uint64_t value)
{
  __atomic_store_n(cursor, value, __ATOMIC_RELEASE);
}

static inline uint32_t slots_of(uint32_t length)
{
  return length <= SLOT - PREFIX ? 1 : (length + PREFIX + SLOT - 1) / SLOT;
}

static inline uint8_t *next_slot(const struct interlink_side *s)
{
  return s->shared->ring + (uint64_t)s->index * SLOT;
}

static inline void advance(struct interlink_side *s, uint32_t n)
{
  s->index += n;
  if (s->index >= s->slots)
    s->index -= s->slots;
  s->own += n;
  s->packets++;
}

/* Go on where the last one of this side was; `shared`, `size` and `slots` are given. */
void pg_interlink_attach(struct interlink_side *s, bool receiver)
{
  const struct interlink *r = s->shared;
  s->own = get(receiver ? &r->read : &r->write);
  s->packets = get(receiver ? &r->read_packets : &r->write_packets);
  s->other = receiver ? s->own : s->own - s->slots; /* empty; full: so it looks first */
  s->index = (uint32_t)(s->own % s->slots);
}

/* Is there no room for a packet of any length? With size - 2 slots taken there is. */
bool pg_interlink_full(struct interlink_side *s)
{
  if (s->own - s->other + 1 < s->size)
    return false;
  uint64_t read = get(&s->shared->read);
  if (unlikely(s->own - read > s->slots))
    s->lie = INTERLINK_CURSOR;
  if (unlikely(s->lie))
    return true;
  s->other = read;
  return s->own - read + 1 >= s->size;
}

/* Copy the packet into the ring, which isn't full. */
void pg_interlink_insert(struct interlink_side *s, const struct packet *p)
{
  uint8_t *to = next_slot(s);
  uint32_t length = p->length;
  memcpy(to, &length, PREFIX);
  rte_memcpy(to + PREFIX, p->buf_addr + p->data_off, length);
  advance(s, slots_of(length));
}

void pg_interlink_push(struct interlink_side *s)
{
  publish(&s->shared->write_packets, s->packets);
  publish(&s->shared->write, s->own);
}

bool pg_interlink_empty(struct interlink_side *s)
{
  if (s->own != s->other)
    return false;
  uint64_t write = get(&s->shared->write);
  if (unlikely(write - s->own > s->slots))
    s->lie = INTERLINK_CURSOR;
  if (unlikely(s->lie))
    return true;
  s->other = write;
  return s->own == write;
}

/* Copy the next packet, of a ring that isn't empty, to `p`, an empty one, if its
 * length can be. */
static inline bool take(struct interlink_side *s, struct packet *p)
{
  const uint8_t *from = next_slot(s);
  uint32_t length = __atomic_load_n((const uint32_t *)from, __ATOMIC_RELAXED);
  if (unlikely(length > PACKET_MAX_PAYLOAD || slots_of(length) > s->other - s->own)) {
    s->lie = INTERLINK_LENGTH;
    s->other = s->own;
    return false;
  }
  rte_memcpy(p->buf_addr + p->data_off, from + PREFIX, length);
  p->length = (uint16_t)length;
  advance(s, slots_of(length));
  return true;
}

/* The same; `p` stays empty if there is none. */
void pg_interlink_extract(struct interlink_side *s, struct packet *p)
{
  if (!pg_interlink_empty(s))
    take(s, p);
}

void pg_interlink_pull(struct interlink_side *s)
{
  publish(&s->shared->read_packets, s->packets);
  publish(&s->shared->read, s->own);
}

/* Count the packets as freed and put them on the free list. */
static void free_burst(struct freelist *account, struct packet **packets, int n)
{
  struct sums sums = pg_sum((struct rte_mbuf **)packets, (uint16_t)n);
  account->frees += n;
  account->freebytes += sums.bytes;
  account->freebits += sums.bits;
  if (account->nfree + n > account->max)
    pg_freelist_spill(account, account->max / 2);
  for (int i = 0; i < n; i++) {
    packets[i]->length = 0;
    packets[i]->data_off = PACKET_HEADROOM;
    packets[i]->ol_flags = 0;
    account->list[account->nfree + i] = packets[i];
  }
  account->nfree += n;
}

static inline struct packet *waiting(const struct link *link, int i)
{
  return link->packets[(link->read + i) & (LINK_RING_SIZE - 1)];
}

/* Send what waits in the link through the interlink, as far as there is room and up
 * to a burst; how many packets. */
int pg_interlink_send(struct interlink_side *s, struct link *link,
                      struct freelist *account)
{
  struct packet *packets[PORT_BURST];
  int n = 0, most = (int)((uint32_t)link->write - (uint32_t)link->read);
  most = RTE_MIN(most, PORT_BURST);
  while (n < most && !pg_interlink_full(s)) {
    if (n + AHEAD < most) {
      rte_prefetch0(waiting(link, n + AHEAD));
      const struct packet *next = waiting(link, n + AHEAD / 2);
      rte_prefetch0(next->buf_addr + next->data_off);
    }
    pg_interlink_insert(s, waiting(link, n++));
  }
  pg_interlink_push(s);
  pg_take_counted(link, packets, n);
  free_burst(account, packets, n);
  return n;
}

/* Receive up to `max` packets, as many as there are on the free list, into
 * the link, which has room for them; how many. */
int pg_interlink_receive(struct interlink_side *s, struct link *link,
                         struct freelist *account, int max)
{
  struct packet *packets[PORT_BURST];
  int n = 0;
  max = RTE_MIN(RTE_MIN(max, account->nfree), PORT_BURST);
  while (n < max && !pg_interlink_empty(s)) {
    packets[n] = account->list[account->nfree - 1];
    if (account->nfree > AHEAD)
      rte_prefetch0(account->list[account->nfree - 1 - AHEAD]);
    if (unlikely(!take(s, packets[n])))
      break;
    account->nfree--;
    n++;
  }
  pg_interlink_pull(s);
  pg_give(account, link, packets, n);
  return n;
}
