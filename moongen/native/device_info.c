/* SPDX-License-Identifier: Apache-2.0
 *
 * What devices report, and what can be changed while they run.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* The port's extended statistics: how many, or -1 and none. The caller frees them. */
static int32_t xstats(int32_t id, uint32_t room, struct port_xstat **list)
{
  struct mg_device *d = mg_device(id);
  *list = NULL;
  if (!d || !d->opened)
    return -ENODEV;
  int32_t n = pg_port_xstats(&d->ports[0], NULL, 0);
  if (n <= 0 || room < (uint32_t)n || !(*list = calloc(n, sizeof **list)))
    return n;
  return RTE_MIN(pg_port_xstats(&d->ports[0], *list, n), n);
}

/* They and their names, as rte_eth_xstats_get and rte_eth_xstats_get_names of a device's
 * number tell them: how many there are, with or without room for them. */
int32_t mg_device_xstats(int32_t id, void *values, uint32_t room)
{
  struct rte_eth_xstat *to = values;
  struct port_xstat *list;
  int32_t n = xstats(id, values ? room : 0, &list);
  for (int32_t i = 0; list && i < n; i++)
    to[i] = (struct rte_eth_xstat){i, list[i].value};
  free(list);
  return n;
}

int32_t mg_device_xstat_names(int32_t id, void *names, uint32_t room)
{
  struct rte_eth_xstat_name *to = names;
  struct port_xstat *list;
  int32_t n = xstats(id, names ? room : 0, &list);
  for (int32_t i = 0; list && i < n; i++)
    memcpy(to[i].name, list[i].name, sizeof to[i].name);
  free(list);
  return n;
}
