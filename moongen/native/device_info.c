/* SPDX-License-Identifier: Apache-2.0
 *
 * What devices report, and what can be changed while they run.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "../../src/native/api.h"
#include "../../src/native/host.h"
#include "internal.h"

static void add_queues(const struct mg_device *d, struct port_stats *s)
{
  uint64_t received = 0, rxbytes = 0;
  for (int i = 0; i < d->sources; i++) {
    received += d->ports[i].rxpackets;
    rxbytes += d->ports[i].rxbytes;
    s->imissed += d->ports[i].rx_oversize;
  }
  uint64_t sent = 0, txbytes = 0;
  for (int i = 0; i < d->ntx; i++) {
    sent += d->tx[i].packets;
    txbytes += d->tx[i].bytes;
    s->oerrors += d->tx[i].dropped;
  }
  if (d->ports[0].own || s->ipackets < received) {
    s->ipackets = received;
    s->ibytes = rxbytes;
  }
  if (s->ibytes == 0)
    s->ibytes = rxbytes;
  s->opackets = sent; /* drivers count late, or not at all */
  s->obytes = txbytes;
}

/* What came to the device, and then found no room in a queue. */
static void add_missed_by_queues(const struct mg_device *d, struct port_stats *s)
{
  for (int i = 0; i < d->nrx; i++) {
    uint64_t missed = __atomic_load_n(&d->rx[i].missed, __ATOMIC_RELAXED);
    s->ipackets -= RTE_MIN(missed, s->ipackets);
    s->imissed += missed;
  }
}

/* Since it was configured, without CRC. What nobody received counts as missed, with its
 * bytes. */
int mg_device_stats(const struct mg_device *d, struct port_stats *s)
{
  memset(s, 0, sizeof *s);
  if (!d->opened)
    return -1;
  if (!d->ports[0].own)
    pg_port_stats(&d->ports[0], s);
  s->ipackets -= d->began.ipackets;
  s->ibytes -= d->began.ibytes;
  s->imissed -= d->began.imissed;
  s->ierrors -= d->began.ierrors;
  s->oerrors -= d->began.oerrors;
  s->rx_nombuf -= d->began.rx_nombuf;
  add_queues(d, s);
  add_missed_by_queues(d, s);
  s->imissed += d->missed;
  s->ibytes += d->missed_bytes;
  return 0;
}

/* Extended statistics, by the device's number (rte_eth_xstats_get). Ports that DPDK
 * doesn't drive have those that every port has. --------------------------------- */

static const char *const names[] = {
  "rx_good_packets", "tx_good_packets", "rx_good_bytes", "tx_good_bytes",
  "rx_missed_errors", "rx_errors", "tx_errors", "rx_mbuf_allocation_errors"};

enum { OWN = sizeof names / sizeof *names };

int32_t mg_device_xstats(int32_t id, void *values, uint32_t n)
{
  struct mg_device *d = mg_device(id);
  struct rte_eth_xstat *to = values;
  struct port_stats s;
  if (!d || !d->opened)
    return -ENODEV;
  if (!d->ports[0].own)
    return rte_eth_xstats_get(d->ports[0].id, n ? to : NULL, n);
  if (n < OWN)
    return OWN;
  mg_device_stats(d, &s);
  const uint64_t counts[] = {s.ipackets, s.opackets, s.ibytes, s.obytes,
                             s.imissed, s.ierrors, s.oerrors, s.rx_nombuf};
  for (int i = 0; i < OWN; i++)
    to[i] = (struct rte_eth_xstat){i, counts[i]};
  return OWN;
}

int32_t mg_device_xstat_names(int32_t id, void *to, uint32_t n)
{
  struct mg_device *d = mg_device(id);
  struct rte_eth_xstat_name *list = to;
  if (!d || !d->opened)
    return -ENODEV;
  if (!d->ports[0].own)
    return rte_eth_xstats_get_names(d->ports[0].id, n ? list : NULL, n);
  if (n < OWN)
    return OWN;
  for (int i = 0; i < OWN; i++)
    snprintf(list[i].name, sizeof list[i].name, "%s", names[i]);
  return OWN;
}
