/* SPDX-License-Identifier: Apache-2.0
 *
 * memif ports: shared memory with another process (VPP, DPDK, libmemif, another Perigee).
 * Our own driver, since whoever is at the other end is believed nothing: README.md.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../native/api.h"
#include "../../native/driver.h"
#include "../../native/host.h"
#include "state.h"

static void read_stats(const struct port *port, struct port_stats *stats)
{
  const struct memif *m = port->state;
  for (int i = 0; i < MOST_QUEUES; i++) {
    stats->ipackets += m->receive[i].packets;
    stats->ibytes += m->receive[i].bytes;
    stats->ierrors += m->receive[i].errors;
    stats->opackets += m->send[i].packets;
    stats->obytes += m->send[i].bytes;
    stats->oerrors += m->send[i].errors;
  }
}

static int read_link(const struct port *port, struct port_link *link)
{
  const struct memif *m = port->state;
  *link = (struct port_link){.up = __atomic_load_n(&m->live, __ATOMIC_RELAXED) != NULL,
                             .full_duplex = 1};
  return 0;
}

static int read_mac(const struct port *port, uint8_t *mac)
{
  const struct memif *m = port->state;
  memcpy(mac, m->mac.addr_bytes, sizeof m->mac.addr_bytes);
  return 0;
}

/* Peers that were let go, by name. */
static int32_t events(const struct port *port, struct port_xstat *list, uint32_t n)
{
  const struct memif *m = port->state;
  for (uint32_t f = FAULT_NONE + 1; f < FAULTS && f <= n; f++) {
    snprintf(list[f - 1].name, sizeof list->name, "peer_%s", pg_memif_fault_name(f));
    list[f - 1].value = m->faults[f];
  }
  return FAULTS - 1;
}

static void let_free(struct memif *m)
{
  if (m->changed >= 0)
    close(m->changed);
  free((char *)m->options.path);
  free(m);
}

static int close_port(struct port *port)
{
  struct memif *m = port->state;
  pg_memif_part(m);
  let_free(m);
  port->state = NULL;
  return 0;
}

static const struct own_driver driver = {
  .name = "memif", .receive = pg_memif_receive, .send = pg_memif_send,
  .stats = read_stats, .link = read_link, .mac = read_mac, .events = events,
  .close = close_port};

/* Open a port that serves a socket or connects to it. 0, or -1 and pg_error(). */
int pg_memif_open(struct port *port, const struct memif_options *options)
{
  struct memif *m = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(sizeof *m,
                                  RTE_CACHE_LINE_SIZE));
  if (!m)
    return pg_fail("no memory");
  memset(m, 0, sizeof *m);
  m->options = *options;
  m->options.path = strdup(options->path);
  rte_eth_random_addr(m->mac.addr_bytes);
  pg_memif_guard();
  pg_port_own(port, &driver, m);
  snprintf(port->name, sizeof port->name, "memif:%s", options->path);
  m->changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (m->changed < 0)
    pg_fail("there is no descriptor left for it");
  else if (m->options.path && pg_memif_join(m) == 0)
    return 0;
  let_free(m);
  port->state = NULL;
  return -1;
}
