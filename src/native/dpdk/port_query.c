/* SPDX-License-Identifier: Apache-2.0
 *
 * What a port reports: statistics, link, address, driver.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_ether.h>

#include "../api.h"
#include "../driver.h"
#include "internal.h"

void pg_port_add_stats(struct port_stats *sum, const struct port_stats *s)
{
  sum->ipackets += s->ipackets, sum->opackets += s->opackets;
  sum->ibytes += s->ibytes, sum->obytes += s->obytes;
  sum->imissed += s->imissed, sum->ierrors += s->ierrors;
  sum->oerrors += s->oerrors, sum->rx_nombuf += s->rx_nombuf;
}

/* What its device counts, and those that it had before have counted. */
int pg_port_stats(const struct port *port, struct port_stats *stats)
{
  struct rte_eth_stats raw;
  if (port->own) {
    memset(stats, 0, sizeof *stats);
    port->own->stats(port, stats);
    pg_port_add_stats(stats, &port->past);
    return 0;
  }
  if (rte_eth_stats_get(port->id, &raw) < 0)
    return pg_fail("%s has no statistics", port->name);
  *stats = (struct port_stats){
    .ipackets = raw.ipackets, .opackets = raw.opackets,
    .ibytes = raw.ibytes, .obytes = raw.obytes,
    .imissed = raw.imissed, .ierrors = raw.ierrors,
    .oerrors = raw.oerrors, .rx_nombuf = raw.rx_nombuf};
  pg_port_add_stats(stats, &port->past);
  return 0;
}

/* What else happened to a port of our own, such as peers that were let go, by name: up to
 * `n` of them into `list`. How many there are. */
int32_t pg_port_events(const struct port *port, struct port_xstat *list, uint32_t n)
{
  return port->own && port->own->events ? port->own->events(port, list, n) : 0;
}

/* The statistics of ports of our own, under the names that DPDK gives those. */
static int32_t own_xstats(const struct port *port, struct port_xstat *list, uint32_t n)
{
  struct port_stats s;
  if (pg_port_stats(port, &s) < 0)
    return -1;
  const struct { const char *name; uint64_t value; } all[] = {
    {"rx_good_packets", s.ipackets}, {"tx_good_packets", s.opackets},
    {"rx_good_bytes", s.ibytes}, {"tx_good_bytes", s.obytes},
    {"rx_missed_errors", s.imissed}, {"rx_errors", s.ierrors},
    {"tx_errors", s.oerrors}, {"rx_mbuf_allocation_errors", s.rx_nombuf},
  };
  for (uint32_t i = 0; i < RTE_DIM(all) && i < n; i++) {
    snprintf(list[i].name, sizeof list[i].name, "%s", all[i].name);
    list[i].value = all[i].value;
  }
  uint32_t known = RTE_DIM(all);
  return known + pg_port_events(port, list + RTE_MIN(known, n), n - RTE_MIN(known, n));
}

/* All statistics that the port's driver has, into `list`, up to `n` of them. How many
 * there are; -1 if it tells none. */
int32_t pg_port_xstats(const struct port *port, struct port_xstat *list, uint32_t n)
{
  if (port->own)
    return own_xstats(port, list, n);
  int count = rte_eth_xstats_get_names(port->id, NULL, 0);
  if (count < 0 || n == 0 || (uint32_t)count > n)
    return count < 0 ? -1 : count;
  struct rte_eth_xstat_name *names = calloc(count + 1, sizeof *names);
  struct rte_eth_xstat *values = calloc(count + 1, sizeof *values);
  if (names && values && rte_eth_xstats_get_names(port->id, names, count) == count)
    count = rte_eth_xstats_get(port->id, values, count);
  else
    count = -1;
  for (int i = 0; i < count; i++) {
    snprintf(list[i].name, sizeof list[i].name, "%s", names[values[i].id].name);
    list[i].value = values[i].value;
  }
  free(names);
  free(values);
  return count;
}

/* Packets that wait in the queue to be received; -1 if the port doesn't tell. */
int32_t pg_port_queue_count(const struct port *port, uint16_t queue)
{
  return port->own ? -1 : rte_eth_rx_queue_count(port->id, queue);
}

int pg_port_link(const struct port *port, struct port_link *link)
{
  struct rte_eth_link raw;
  if (port->own)
    return port->own->link ? port->own->link(port, link)
                           : pg_fail("%s doesn't report its link status", port->name);
  if (rte_eth_link_get_nowait(port->id, &raw) < 0)
    return pg_fail("%s doesn't report its link status", port->name);
  link->up = raw.link_status;
  link->full_duplex = raw.link_duplex;
  link->speed = raw.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : raw.link_speed;
  return 0;
}

/* How many ports a process may have: what DPDK was built for. */
uint32_t pg_most_ports(void)
{
  return RTE_MAX_ETHPORTS;
}

/* Most queues that the port can have each way, and the entries of its table from hashes to
 * queues (RETA; 0: it has none). */
void pg_port_limits(const struct port *port, struct port_limits *limits)
{
  struct rte_eth_dev_info info;
  *limits = (struct port_limits){.rx = 1, .tx = 1};
  if (!port->own && rte_eth_dev_info_get(port->id, &info) >= 0)
    *limits = (struct port_limits){info.max_rx_queues, info.max_tx_queues, info.reta_size};
}

/* The port's Ethernet address, 6 bytes. */
int pg_port_mac(const struct port *port, uint8_t *mac)
{
  struct rte_ether_addr address;
  if (port->own)
    return port->own->mac ? port->own->mac(port, mac)
                          : pg_fail("%s has no Ethernet address", port->name);
  if (rte_eth_macaddr_get(port->id, &address) < 0)
    return pg_fail("%s has no Ethernet address", port->name);
  memcpy(mac, address.addr_bytes, sizeof address.addr_bytes);
  return 0;
}

/* The name of the driver behind the port: DPDK's, or our own. */
const char *pg_port_driver(const struct port *port)
{
  struct rte_eth_dev_info info;
  if (port->own)
    return port->own->name;
  return rte_eth_dev_info_get(port->id, &info) == 0 && info.driver_name
           ? info.driver_name
           : "unknown";
}

/* Ports DPDK knows now. */
int pg_port_count(void)
{
  return rte_eth_dev_count_avail();
}
