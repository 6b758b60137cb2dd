/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets between a port and the array of a fused region, or another port: past the
 * link that joins them, whose cursors only count. What is in the link all the same (from
 * before the region was made, or what the device didn't take) goes first.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "../api.h"
#include "../driver.h"
#include "internal.h"
#include "io_cycles.h"
#include "link_cursors.h"

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
  link->read += n;
  link->limit = (int32_t)((uint32_t)link->read + LINK_MAX_PACKETS);
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

static inline int fetch(struct port *port, struct link *link, struct packet **to,
                        int most, bool counted)
{
  struct cycles *c = sample_of(port->account);
  if (unlikely(waiting(link) > 0))
    return counted ? pg_take_counted(link, to, PORT_BURST)
                   : pg_take(link, to, PORT_BURST);
  if (likely(!c))
    return receive_past(port, link, to, most, counted);
  uint64_t began = rte_rdtsc();
  int n = receive_past(port, link, to, most, counted);
  spent_on_ports(c, n ? &c->receive : &c->empty, began);
  return n;
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

static inline void send_burst(struct port *port, struct link *link, struct packet **from,
                              int n)
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
    struct sums sums, left = {0};
    uint16_t kept = pg_prepare(port, packets, chunk, &sums);
    uint16_t taken = port_send(port, packets, kept);
    if (taken < kept)
      left = pg_sum(packets + taken, kept - taken);
    passed(link, chunk - left.packets);
    link->rxbytes += sums.bytes + sums.dropped_bytes - left.bytes;
    port->txpackets += taken;
    port->txbytes += sums.bytes - left.bytes;
    port->account->sent += taken;
    port->account->sentbytes += sums.bytes - left.bytes;
    port->account->sentbits += sums.bits - left.bits;
    done += chunk;
    if (taken < kept) {
      pg_give(port->account, link, (struct packet **)packets + taken, kept - taken);
      pg_give(port->account, link, from + done, n - done);
      return;
    }
  }
}

/* Send `n` packets (driver.h), after those that wait in the link. */
void pg_send(struct port *port, struct link *link, struct packet **from, int n)
{
  struct cycles *c = sample_of(port->account);
  if (likely(!c)) {
    send_burst(port, link, from, n);
    return;
  }
  uint64_t began = rte_rdtsc();
  send_burst(port, link, from, n);
  spent_on_ports(c, &c->send, began);
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
