/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue of packets from one process to another: their bytes in a ring of slots in
 * shared memory (snabb/lib/interlink.lua says who may do what when). A packet of up to
 * SLOT - 4 bytes takes a slot, a longer one several that follow each other; behind
 * the last slot is room for the rest of one that begins there. The stride isn't a
 * power of two: then all packets would compete for a few sets of the cache.
 *
 * What the other process writes is checked before it is used.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_memcpy.h>
#include <rte_prefetch.h>

#include "../../src/native/api.h"
#include "snabb.h"
#include "../../src/native/dpdk/internal.h"

enum {
  SLOT = INTERLINK_SLOT,
  PREFIX = 4, /* bytes before a packet: its length */
  AHEAD = 8,  /* packets, that memory is asked for */
  MOST_SLOTS = (PACKET_MAX_PAYLOAD + PREFIX + SLOT - 1) / SLOT
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

static inline uint8_t *slot(const struct interlink *r, uint32_t index)
{
  return (uint8_t *)r->ring + (uint64_t)index * SLOT;
}

static inline uint32_t later(const struct interlink *r, uint32_t index, uint32_t n)
{
  index += n;
  return index >= r->slots ? index - r->slots : index;
}

/* The receiver's and the transmitter's cursors, from what is published. */
void pg_interlink_attach(struct interlink *r, bool receiver)
{
  if (receiver) {
    r->nread = get(&r->read);
    r->read_index = (uint32_t)(r->nread % r->slots);
    r->nread_packets = get(&r->read_packets);
    r->lwrite = get(&r->write);
  } else {
    r->nwrite = get(&r->write);
    r->write_index = (uint32_t)(r->nwrite % r->slots);
    r->nwrite_packets = get(&r->write_packets);
    r->lread = get(&r->read);
    r->lread_packets = get(&r->read_packets);
  }
}

/* Is there no room for a packet of any length? */
bool pg_interlink_full(struct interlink *r)
{
  for (int again = 0; again < 2; again++) {
    if (r->nwrite_packets - r->lread_packets + 1 < (uint64_t)r->size &&
        r->slots - (r->nwrite - r->lread) >= MOST_SLOTS)
      return false;
    r->lread = get(&r->read);
    r->lread_packets = get(&r->read_packets);
  }
  return true;
}

/* Copy the packet into the ring, which isn't full. */
void pg_interlink_insert(struct interlink *r, const struct packet *p)
{
  uint8_t *to = slot(r, r->write_index);
  uint32_t length = p->length, n = slots_of(length);
  memcpy(to, &length, PREFIX);
  rte_memcpy(to + PREFIX, p->buf_addr + p->data_off, length);
  r->write_index = later(r, r->write_index, n);
  r->nwrite += n;
  r->nwrite_packets++;
}

void pg_interlink_push(struct interlink *r)
{
  publish(&r->write_packets, r->nwrite_packets);
  publish(&r->write, r->nwrite);
}

bool pg_interlink_empty(struct interlink *r)
{
  if (r->nread >= r->lwrite)
    r->lwrite = get(&r->write);
  return r->nread >= r->lwrite;
}

/* Copy the next packet, of a ring that isn't empty, to `p`, an empty one. */
void pg_interlink_extract(struct interlink *r, struct packet *p)
{
  const uint8_t *from = slot(r, r->read_index);
  uint32_t length;
  memcpy(&length, from, PREFIX);
  if (length > PACKET_MAX_PAYLOAD)
    length = 0;
  uint32_t n = slots_of(length);
  rte_memcpy(p->buf_addr + p->data_off, from + PREFIX, length);
  p->length = (uint16_t)length;
  r->read_index = later(r, r->read_index, n);
  r->nread += n;
  r->nread_packets++;
}

void pg_interlink_pull(struct interlink *r)
{
  publish(&r->read_packets, r->nread_packets);
  publish(&r->read, r->nread);
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
int pg_interlink_send(struct interlink *r, struct link *link, struct freelist *account)
{
  struct packet *packets[PORT_BURST];
  int n = 0, most = (int)((uint32_t)link->write - (uint32_t)link->read);
  most = RTE_MIN(most, PORT_BURST);
  while (n < most && !pg_interlink_full(r)) {
    if (n + AHEAD < most) {
      rte_prefetch0(waiting(link, n + AHEAD));
      const struct packet *next = waiting(link, n + AHEAD / 2);
      rte_prefetch0(next->buf_addr + next->data_off);
    }
    pg_interlink_insert(r, waiting(link, n++));
  }
  pg_interlink_push(r);
  pg_take_counted(link, packets, n);
  free_burst(account, packets, n);
  return n;
}

/* Receive up to `max` packets, as many as there are on the free list, into
 * the link, which has room for them; how many. */
int pg_interlink_receive(struct interlink *r, struct link *link,
                         struct freelist *account, int max)
{
  struct packet *packets[PORT_BURST];
  int n = 0;
  max = RTE_MIN(RTE_MIN(max, account->nfree), PORT_BURST);
  while (n < max && !pg_interlink_empty(r)) {
    packets[n] = account->list[--account->nfree];
    if (account->nfree >= AHEAD)
      rte_prefetch0(account->list[account->nfree - AHEAD]);
    pg_interlink_extract(r, packets[n++]);
  }
  pg_interlink_pull(r);
  pg_give(account, link, packets, n);
  return n;
}
