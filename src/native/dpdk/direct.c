/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets between a port and the array of a fused region, or another port: past the
 * link that joins them, whose cursors only count. What is in the link all the same (from
 * before the region was made, or what the device didn't take) goes first.
 */
/* Two counters side by side would be gathered into a vector, added to and scattered again. */
#pragma GCC optimize("no-tree-slp-vectorize")

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

enum { MASK = LINK_RING_SIZE - 1 };

/* `n` packets from slot `cursor` of the ring on, or to it: in two pieces where
 * the ring ends, so that they are copied as vectors. */
static void copy_out(const struct link *link, uint32_t cursor,
                     struct packet **to, uint32_t n)
{
  uint32_t slot = cursor & MASK, first = RTE_MIN(n, LINK_RING_SIZE - slot);
  memcpy(to, &link->packets[slot], first * sizeof *to);
  memcpy(to + first, link->packets, (n - first) * sizeof *to);
}

static void copy_in(struct link *link, uint32_t cursor, struct packet **from,
                    uint32_t n)
{
  uint32_t slot = cursor & MASK, first = RTE_MIN(n, LINK_RING_SIZE - slot);
  memcpy(&link->packets[slot], from, first * sizeof *from);
  memcpy(link->packets, from + first, (n - first) * sizeof *from);
}

/* Take up to `max` packets out of the link; how many. The caller adds up their
 * bytes (link->rxbytes), as it looks at each of them anyway. */
int pg_take(struct link *link, struct packet **to, int max)
{
  uint32_t n = RTE_MIN(waiting(link), (uint32_t)max);
  copy_out(link, link->read, to, n);
  taken(link, n);
  return n;
}

/* A burst of up to `n` from the device; counts its bytes if `bytes` isn't NULL. */
static inline int receive_burst(struct port *port, struct packet **to, uint16_t n,
                                int64_t *bytes)
{
  n = port_receive(port, (struct rte_mbuf **)to, n);
  port->found_nothing = n == 0;
  port->full = n == PORT_BURST;
  port->rxpackets += n;
  port->account->received += n;
  if (port->tidy)
    n = pg_tidy(port, (struct rte_mbuf **)to, n, bytes);
  else if (bytes)
    *bytes = length_of(to, n);
  return n;
}

/* Take up to `max` packets out of the link and add up their bytes; how many. */
int pg_take_counted(struct link *link, struct packet **to, int max)
{
  int n = pg_take(link, to, max);
  link->rxbytes += length_of(to, n);
  return n;
}

static inline int receive_past(struct port *port, struct link *link,
                               struct packet **to, int most, bool counted)
{
  int64_t bytes = 0;
  uint16_t wanted = RTE_MIN(port->burst, most);
  int n = receive_burst(port, to, wanted, counted ? &bytes : NULL);
  passed(link, n);
  link->rxbytes += bytes;
  return n;
}

/* What waits in the link comes first; a sample of a breath is taken. Not inlined, so that
 * what happens mostly needn't save registers for it. */
static __rte_noinline int fetch_seldom(struct port *port, struct link *link,
                                       struct packet **to, int most, bool counted)
{
  struct cycles *c = sample_of(port->account);
  if (waiting(link) > 0)
    return counted ? pg_take_counted(link, to, PORT_BURST)
                   : pg_take(link, to, PORT_BURST);
  uint64_t began = rte_rdtsc();
  int n = receive_past(port, link, to, most, counted);
  spent_on_ports(c, n ? &c->receive : &c->empty, began);
  return n;
}

static inline int fetch(struct port *port, struct link *link, struct packet **to,
                        int most, bool counted)
{
  if (unlikely(waiting(link) > 0 || sample_of(port->account)))
    return fetch_seldom(port, link, to, most, counted);
  return receive_past(port, link, to, most, counted);
}

/* Receive a burst (driver.h) of up to `most` packets into `to`, which has room for
 * PORT_BURST, or what waits in the link; how many packets. Bytes as in pg_take. */
int pg_fetch(struct port *port, struct link *link, struct packet **to, int most)
{
  return fetch(port, link, to, most, false);
}

/* The same, and adds up their bytes. */
int pg_fetch_counted(struct port *port, struct link *link, struct packet **to, int most)
{
  return fetch(port, link, to, most, true);
}

/* As link.transmit() does with a full link: freed by the app, to the list and
 * beyond. */
static void lose(struct freelist *account, struct link *link, struct packet *p)
{
  struct sums sums = pg_sum((struct rte_mbuf **)&p, 1);
  link->txdrop++;
  link->txdropbytes += sums.bytes;
  account->frees++;
  account->freebytes += sums.bytes;
  account->freebits += sums.bits;
  account->spilled++;
  rte_pktmbuf_free((struct rte_mbuf *)p);
}

/* Put `n` packets into the link; those it has no room for are freed. */
void pg_give(struct freelist *account, struct link *link, struct packet **from,
             int n)
{
  uint32_t write = link->write;
  int fitting = RTE_MIN((uint32_t)n, LINK_MAX_PACKETS - waiting(link));
  copy_in(link, write, from, fitting);
  link->write = (int32_t)(write + fitting);
  for (int i = fitting; i < n; i++)
    lose(account, link, from[i]);
}

/* `sent` left by the link and the port, and are counted. */
static inline void count_sent(struct port *port, struct link *link,
                              const struct sums *sent)
{
  struct freelist *account = port->account;
  passed(link, sent->packets);
  link->rxbytes += sent->bytes;
  port->txpackets += sent->packets;
  port->txbytes += sent->bytes;
  account->sent += sent->packets;
  account->sentbytes += sent->bytes;
  account->sentbits += sent->bits;
}

static void send_burst(struct port *port, struct link *link, struct packet **from, int n)
{
  if (unlikely(waiting(link) > 0)) {
    pg_transmit(port, link);
    if (waiting(link) > 0) {
      pg_give(port->account, link, from, n);
      return;
    }
  }
  for (int done = 0; done < n;) {
    struct rte_mbuf **packets = (struct rte_mbuf **)from + done;
    uint16_t chunk = RTE_MIN((uint32_t)(n - done), (uint32_t)PORT_BURST);
    struct sums sums;
    uint16_t kept = pg_prepare(port, packets, chunk, &sums);
    uint16_t taken = port_send(port, packets, kept);
    if (taken < kept) {
      struct sums left = pg_sum(packets + taken, kept - taken);
      sums.packets = taken;
      sums.bytes -= left.bytes;
      sums.bits -= left.bits;
    }
    count_sent(port, link, &sums);
    passed(link, chunk - kept); /* dropped, as the port can't send them */
    link->rxbytes += sums.dropped_bytes;
    done += chunk;
    if (taken < kept) {
      pg_give(port->account, link, (struct packet **)packets + taken, kept - taken);
      pg_give(port->account, link, from + done, n - done);
      return;
    }
  }
}

/* The device took the first `taken` of these only. */
static __rte_noinline void keep_rest(struct port *port, struct link *link,
                                     struct rte_mbuf **packets, int n, uint16_t taken)
{
  struct sums sums = pg_sum(packets, taken);
  count_sent(port, link, &sums);
  pg_give(port->account, link, (struct packet **)packets + taken, n - taken);
}

enum { FEW = 15 }; /* that are looked at one by one (bounds.h) */

/* May what is to be sent by the link go straight to the device, and is nothing to be
 * done for it but pg_prepare's usual? */
static inline bool is_usual(const struct port *port, const struct link *link)
{
  return waiting(link) == 0 && !sample_of(port->account) &&
         !atomic_load_explicit(&pg_offloads_asked, memory_order_relaxed);
}

/* Send packets that nothing is to be done for, of so many bytes together. */
static inline void send_as_they_are(struct port *port, struct link *link,
                                    struct rte_mbuf **packets, int n, uint32_t bytes)
{
  uint16_t taken = port_send(port, packets, n);
  if (unlikely(taken < n)) {
    keep_rest(port, link, packets, n, taken);
  } else {
    struct sums sums = {n, bytes, 8 * (bytes + (uint64_t)WIRE_OVERHEAD * n), 0};
    count_sent(port, link, &sums);
  }
}

/* As send_burst for up to FEW packets, for which what a burst costs by itself counts.
 * False, and nothing is sent, if one is shorter than frames are on the wire or longer than
 * the port takes. */
static inline bool send_few(struct port *port, struct link *link,
                            struct rte_mbuf **packets, int n)
{
  int32_t least = RTE_MAX(port->min_frame, SHORTEST_FRAME);
  uint32_t lengths = RTE_MAX(port->max_frame + 1 - least, 0), bytes = 0;
  for (int i = 0; i < n; i++) {
    uint32_t length = packets[i]->data_len;
    if (unlikely(packets[i]->pkt_len != length))
      packets[i]->pkt_len = length;
    bytes += length;
    if (unlikely(length - least >= lengths))
      return false;
  }
  send_as_they_are(port, link, packets, n, bytes);
  return true;
}

/* The same for more than FEW, if DPDK knows their lengths. */
static bool send_more(struct port *port, struct link *link,
                                     struct rte_mbuf **packets, int n)
{
  struct bounds b = bounds_of(packets, n);
  if (b.pkt_len_differs || b.shortest < RTE_MAX(port->min_frame, SHORTEST_FRAME) ||
      b.longest > port->max_frame)
    return false;
  send_as_they_are(port, link, packets, n, b.bytes);
  return true;
}

static __rte_noinline void send_many(struct port *port, struct link *link,
                                     struct packet **from, int n)
{
  struct cycles *c = sample_of(port->account);
  if (n > FEW && n <= PORT_BURST && is_usual(port, link) &&
      send_more(port, link, (struct rte_mbuf **)from, n))
    return;
  if (likely(!c)) {
    send_burst(port, link, from, n);
    return;
  }
  uint64_t began = rte_rdtsc();
  send_burst(port, link, from, n);
  spent_on_ports(c, &c->send, began);
}

/* Send `n` packets (driver.h), after those that wait in the link. */
void pg_send(struct port *port, struct link *link, struct packet **from, int n)
{
  if (unlikely(n > FEW || !is_usual(port, link)) ||
      unlikely(n > 0 && !send_few(port, link, (struct rte_mbuf **)from, n)))
    send_many(port, link, from, n);
}

/* How many packets to receive before they are sent. The first cache holds 64 of them, as
 * they are in it twice (by their headers' two lines). */
static uint16_t most_at_once(const struct port *from, const struct port *to)
{
  enum { CACHED = 64 };
  bool full = from->full_bursts || to->full_bursts;
  return full ? from->burst : RTE_MIN(from->burst, CACHED);
}

/* Receive up to `n` packets from one port and send them by another. */
static int forward(struct port *from, struct link *link, struct port *to, uint16_t n)
{
  struct packet *packets[PORT_BURST];
  struct cycles *c = sample_of(from->account);
  uint64_t began = unlikely(c) ? rte_rdtsc() : 0;
  n = receive_burst(from, packets, n, NULL);
  if (unlikely(c))
    spent_on_ports(c, n ? &c->receive : &c->empty, began);
  if (n > 0)
    pg_send(to, link, packets, n);
  return n;
}

/* Pass what comes at one port on to another, past the link between them, up to `bursts`
 * times as many as a burst has. What the second doesn't take waits in the link, and while
 * any does what comes goes there, too. */
void pg_forward(struct port *from, struct link *link, struct port *to, int bursts)
{
  uint16_t most = most_at_once(from, to);
  if (unlikely(waiting(link) > 0)) {
    pg_transmit(to, link);
    if (waiting(link) > 0) {
      pg_receive(from, link);
      return;
    }
  }
  for (int left = bursts * from->burst; left > 0; left -= most)
    if (forward(from, link, to, most) < most || waiting(link) > 0)
      return;
}
