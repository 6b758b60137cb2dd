/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices: ports of Perigee's with as many queues as a script wants. Those that the
 * port hasn't are made of software: packets are sorted into rings (receive.c), and who
 * sends takes a lock (send.c). All tasks share them.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_bus.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "../../src/native/api.h"
#include "../../src/native/driver.h"
#include "../../src/native/host.h"
#include "internal.h"

enum { RING_SIZE = 4096 }; /* packets that wait for an rx queue */

static struct mg_device *devices[MG_MOST_DEVICES];

/* The device of that number, or NULL. */
struct mg_device *mg_device(int32_t id)
{
  return id >= 0 && id < MG_MOST_DEVICES ? devices[id] : NULL;
}

/* Device number `id`, from 0 on, for a port that isn't open yet; NULL: no memory. */
struct mg_device *mg_device_new(int32_t id, const char *text)
{
  if (id < 0 || id >= MG_MOST_DEVICES)
    return NULL;
  struct mg_device *d = aligned_alloc(64, RTE_ALIGN(sizeof *d, 64));
  if (!d)
    return NULL;
  memset(d, 0, sizeof *d);
  d->id = id;
  d->account.max = FREELIST_SIZE;
  d->account.node = -1;
  snprintf(d->text, sizeof d->text, "%s", text);
  devices[id] = d;
  return d;
}

/* Queues ----------------------------------------------------------------------- */

static void *make_ring(const struct mg_device *d, int q)
{
  char name[RTE_RING_NAMESIZE];
  snprintf(name, sizeof name, "queue_%d_%d", d->id, q);
  return rte_ring_create(name, RING_SIZE, SOCKET_ID_ANY, 0);
}

/* Which of the queues have the device's for themselves. */
void mg_device_use_sources(struct mg_device *d)
{
  bool sorted = d->rules.n > 0 || (d->rss_queues > 1 && d->sources < d->nrx) ||
                d->sources < d->nrx;
  for (int q = 0; q < d->nrx; q++)
    __atomic_store_n(&d->rx[q].direct, !sorted, __ATOMIC_RELEASE);
}

/* Add a rule (pg_rules_add) while others receive. */
bool mg_device_add_rule(struct mg_device *d, const struct pg_rule *rule)
{
  for (int i = 0; i < d->sources; i++)
    pg_spin_lock(&d->rx_locks[i]);
  bool added = pg_rules_add(&d->rules, rule);
  mg_device_use_sources(d);
  for (int i = d->sources; i-- > 0;)
    pg_spin_unlock(&d->rx_locks[i]);
  return added;
}

/* Give the device, whose port 0 is started with `sources` queues to receive from and
 * `sinks` to send to, `nrx` and `ntx` queues of the script's. 0, or -1 and
 * pg_error(). */
int mg_device_set_up(struct mg_device *d, int32_t nrx, int32_t ntx, int32_t sources,
                     int32_t sinks)
{
  d->nrx = nrx;
  d->ntx = ntx;
  d->sources = sources;
  d->sinks = sinks;
  d->ports[0].account = &d->account;
  for (int q = 1; q < RTE_MAX(sources, sinks); q++) {
    d->ports[q] = d->ports[0];
    d->ports[q].queue = q;
  }
  for (int q = 0; q < nrx; q++) {
    d->rx[q] = (struct mg_queue){.device = d, .qid = q, .port = &d->ports[q % sources],
                                 .lock = &d->rx_locks[q % sources]};
    d->rx[q].ring = nrx > 1 ? make_ring(d, q) : NULL;
    if (nrx > 1 && !d->rx[q].ring)
      return pg_fail("no memory for queue %d: %s", q, rte_strerror(rte_errno));
  }
  if (nrx == 1)
    d->rx[0].ring = make_ring(d, 0);
  for (int q = 0; q < ntx; q++)
    d->tx[q] = (struct mg_queue){.device = d, .qid = q, .port = &d->ports[q % sinks],
                                 .lock = &d->tx_locks[q % sinks]};
  mg_device_use_sources(d);
  mg_device_stats(d, &d->began);
  d->configured_at = rte_rdtsc();
  __atomic_store_n(&d->configured, 1, __ATOMIC_RELEASE);
  return 0;
}

/* What a peer sent and nobody took from the ring: how many. */
static uint32_t drain_ring(struct mg_device *d)
{
  struct rte_mbuf *burst[MG_BURST];
  uint32_t n = 0, got = 1;
  for (int i = 0; i < d->sources && d->peer; i++, got = 1)
    while (got > 0 && (got = port_receive(&d->ports[i], burst, MG_BURST)) > 0) {
      rte_pktmbuf_free_bulk(burst, got);
      n += got;
    }
  return n;
}

/* Free and count what waits in the device's queues. Nobody may use it any more. */
void mg_device_drain(struct mg_device *d)
{
  for (int q = 0; q < d->nrx; q++) {
    struct rte_mbuf *m;
    struct mg_queue *rx = &d->rx[q];
    while (rx->ring && rte_ring_dequeue(rx->ring, (void **)&m) == 0) {
      rte_pktmbuf_free(m);
      rx->waiting++;
    }
    rx->waiting += rx->nstash;
    rte_pktmbuf_free_bulk((struct rte_mbuf **)rx->stash, rx->nstash);
    rx->nstash = 0;
    rte_ring_free(rx->ring);
    rx->ring = NULL;
  }
  if (d->configured)
    d->waiting = drain_ring(d);
}

/* How many devices there are. */
int32_t mg_device_count(void)
{
  int32_t n = 0;
  for (int i = 0; i < MG_MOST_DEVICES; i++)
    n = devices[i] ? i + 1 : n;
  return n;
}

/* Nobody gets at the device's port any more: threads that don't end wait. */
void mg_device_seal(struct mg_device *d)
{
  for (int i = 0; i < d->sources; i++)
    pg_spin_lock(&d->rx_locks[i]);
  for (int i = 0; i < d->sinks; i++)
    pg_spin_lock(&d->tx_locks[i]);
}
