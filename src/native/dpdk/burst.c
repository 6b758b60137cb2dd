/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets between a port and a link: one DPDK burst straight into the link's
 * ring, or out of it. Drivers with vector code return nothing when asked for
 * fewer than 4 packets, so a burst is never cut short at the ring's end.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "../api.h"
#include "../driver.h"
#include "../link_cursors.h"
#include "bounds.h"
#include "internal.h"
#include "io_cycles.h"

enum { MASK = LINK_RING_SIZE - 1, SMALLEST_RX = 32 };


static inline uint64_t wire_bits(uint16_t length)
{
  return 8 * (WIRE_OVERHEAD + RTE_MAX(length, SHORTEST_FRAME));
}

/* A packet of our own with the bytes of `m`, which may be chained; NULL if
 * it is too long or there is none. Frees `m`. */
static struct rte_mbuf *copied(struct port *port, struct rte_mbuf *m)
{
  uint32_t length = m->pkt_len;
  struct rte_mbuf *copy = NULL;
  if (length > PACKET_MAX_PAYLOAD) {
    port->rx_oversize++;
    port->account->port_drops++;
  } else if (!(copy = rte_pktmbuf_alloc(port->account->pool))) {
    port->rx_nomem++;
    port->account->port_drops++;
  } else {
    char *to = rte_pktmbuf_append(copy, length);
    const char *from = rte_pktmbuf_read(m, 0, length, to);
    if (from != to)
      memcpy(to, from, length);
  }
  rte_pktmbuf_free(m);
  return copy;
}

/* Is every packet one segment of the pool, of legal length? Adds up their bytes, too.
 * May say no where long packets are mixed. No branch but the loop's, and few steps: each
 * is taken for each packet. */
static bool all_tidy(const struct rte_mempool *pool, struct rte_mbuf **packets,
                     uint16_t n, int64_t *bytes)
{
  uintptr_t pools = 0;
  uint32_t segments = 0, lengths = 0;
  uint64_t sum = 0;
#pragma GCC unroll 8
  for (uint16_t i = 0; i < n; i++) {
    const struct rte_mbuf *m = packets[i];
    pools |= (uintptr_t)m->pool ^ (uintptr_t)pool;
    segments |= m->nb_segs;
    lengths |= m->data_len;
    sum += m->data_len;
  }
  *bytes = (int64_t)sum;
  return pools == 0 && segments == 1 && lengths <= PACKET_MAX_PAYLOAD;
}

/* Make every packet one segment of our pools, of legal length; how many stay, and their
 * bytes if `bytes` isn't NULL. */
uint16_t pg_tidy(struct port *port, struct rte_mbuf **packets, uint16_t n,
                 int64_t *bytes)
{
  const struct rte_mempool *pool = port->account->pool; /* mostly */
  uint16_t kept = 0;
  int64_t all, sum = 0;
  if (likely(all_tidy(pool, packets, n, &all))) {
    if (bytes)
      *bytes = all;
    return n;
  }
  for (uint16_t i = 0; i < n; i++) {
    struct rte_mbuf *m = packets[i];
    bool ours = m->pool == pool || pg_pool_is_ours(m->pool);
    if (m->nb_segs != 1 || !ours || m->data_len > PACKET_MAX_PAYLOAD)
      m = copied(port, m);
    if (m) {
      packets[kept++] = m;
      sum += m->data_len;
    }
  }
  if (bytes)
    *bytes = sum;
  return kept;
}

static inline int receive(struct port *port, struct link *link)
{
  struct rte_mbuf *aside[PORT_BURST];
  uint32_t room = LINK_MAX_PACKETS - waiting(link);
  uint32_t slot = (uint32_t)link->write & MASK;
  uint16_t want = RTE_MIN(room, (uint32_t)port->burst);
  if (room < SMALLEST_RX)
    return 0;
  bool wraps = slot + want > LINK_RING_SIZE;
  struct rte_mbuf **to =
    wraps ? aside : (struct rte_mbuf **)&link->packets[slot];
  uint16_t n = port_receive(port, to, want);
  port->found_nothing = n == 0;
  port->full = n == PORT_BURST;
  port->rxpackets += n;
  port->account->received += n;
  if (port->tidy)
    n = pg_tidy(port, to, n, NULL);
  if (wraps)
    for (uint16_t i = 0; i < n; i++)
      link->packets[(slot + i) & MASK] = (struct packet *)aside[i];
  link->write = (int32_t)((uint32_t)link->write + n);
  set_limit(link);
  return n;
}

/* Receive one burst (driver.h) into the link; the number of packets.
 * What the link has no room for stays in the device. */
int pg_receive(struct port *port, struct link *link)
{
  struct cycles *c = sample_of(port->account);
  if (likely(!c))
    return receive(port, link);
  uint64_t began = rte_rdtsc();
  int n = receive(port, link);
  spent_on_ports(c, n ? &c->receive : &c->empty, began);
  return n;
}

static inline bool sendable(struct port *port, const struct rte_mbuf *m)
{
  uint16_t length = m->data_len;
  if (unlikely(port->gone)) {
    port->tx_unplugged++;
    return false;
  }
  if (unlikely(length < port->min_frame)) {
    port->tx_runt++;
    return false;
  }
  if (likely(port_has_room(port, m)))
    return true;
  port->tx_oversize++;
  return false;
}

uint16_t pg_drop_unsendable(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  uint16_t kept = 0;
  for (uint16_t i = 0; i < n; i++) {
    if (sendable(port, packets[i]))
      packets[kept++] = packets[i];
    else
      rte_pktmbuf_free(packets[i]);
  }
  return kept;
}

struct sums pg_sum(struct rte_mbuf **packets, uint16_t n)
{
  struct sums sums = {.packets = n};
  for (uint16_t i = 0; i < n; i++) {
    sums.bytes += packets[i]->data_len;
    sums.bits += wire_bits(packets[i]->data_len);
  }
  return sums;
}

/* Make a burst of 1 to TX_CHUNK packets ready to send: set each pkt_len, do what
 * the device is asked for and can't, drop what can't be sent. Writes only what
 * changes, as a packet's first store after a while costs more than to look at it
 * (each is on a page of its own). */
uint16_t pg_prepare(struct port *port, struct rte_mbuf **packets, uint16_t n,
                    struct sums *sums)
{
  if (unlikely(atomic_load_explicit(&pg_offloads_asked, memory_order_relaxed)))
    pg_offload_burst(port, packets, n); /* tags make packets longer */
  struct bounds b = bounds_of(packets, n);
  if (b.pkt_len_differs)
    for (uint16_t i = 0; i < n; i++)
      packets[i]->pkt_len = packets[i]->data_len;
  *sums = (struct sums){
    n, b.bytes, 8 * (b.padded + (uint64_t)WIRE_OVERHEAD * n), 0};
  if (likely(b.shortest >= port->min_frame && b.longest <= port->max_frame))
    return n;
  uint16_t kept = pg_drop_unsendable(port, packets, n);
  port->account->port_drops += n - kept;
  *sums = pg_sum(packets, kept);
  sums->dropped_bytes = b.bytes - sums->bytes;
  return kept;
}

/* Send up to a chunk from the link's ring, which ends at its last slot; true
 * if the device took all of it. */
static bool transmit_chunk(struct port *port, struct link *link, int *sent)
{
  uint32_t slot = (uint32_t)link->read & MASK;
  struct rte_mbuf **packets = (struct rte_mbuf **)&link->packets[slot];
  uint16_t n = RTE_MIN(RTE_MIN(waiting(link), LINK_RING_SIZE - slot),
                       (uint32_t)PORT_BURST);
  struct sums sums, left = {0};
  uint16_t kept = pg_prepare(port, packets, n, &sums);
  uint16_t done = port_send(port, packets, kept);
  if (done < kept) {
    /* What stays moves to the end of the slots that were looked at. */
    left = pg_sum(packets + done, kept - done);
    memmove(packets + n - left.packets, packets + done,
            left.packets * sizeof *packets);
  }
  taken(link, n - left.packets);
  link->rxbytes += sums.bytes + sums.dropped_bytes - left.bytes;
  port->txpackets += done;
  port->txbytes += sums.bytes - left.bytes;
  port->account->sent += done;
  port->account->sentbytes += sums.bytes - left.bytes;
  port->account->sentbits += sums.bits - left.bits;
  *sent += done;
  return done == kept;
}

/* Send everything in the link (driver.h); the number of packets sent.
 * What the device doesn't take stays in the link; what it never could take
 * (too short, too long) is freed and counted. */
int pg_transmit(struct port *port, struct link *link)
{
  int sent = 0;
  struct cycles *c = sample_of(port->account);
  uint64_t began = unlikely(c) ? rte_rdtsc() : 0;
  while (waiting(link) > 0 && transmit_chunk(port, link, &sent))
    ;
  if (unlikely(c))
    spent_on_ports(c, &c->send, began);
  return sent;
}

/* Receive what has come to the port, and free it: how many packets. */
uint32_t pg_port_discard(struct port *port)
{
  struct rte_mbuf *burst[PORT_BURST];
  uint32_t n = 0, got;
  for (; (got = port_receive(port, burst, PORT_BURST)) > 0; n += got)
    rte_pktmbuf_free_bulk(burst, got);
  return n;
}

/* Bytes of the packets waiting in the link. */
uint64_t pg_link_queued_bytes(const struct link *link)
{
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < waiting(link); i++)
    bytes += link->packets[((uint32_t)link->read + i) & MASK]->length;
  return bytes;
}
