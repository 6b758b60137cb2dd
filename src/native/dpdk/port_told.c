/* SPDX-License-Identifier: Apache-2.0
 *
 * What a port tells of itself: statistics, link, address, driver.
 */
#include <stdint.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_ether.h>

#include "../api.h"
#include "internal.h"
#include "port_io.h"

int pg_port_stats(const struct port *port, struct port_stats *stats)
{
  struct rte_eth_stats raw;
  if (port->own) {
    memset(stats, 0, sizeof *stats);
    port->own->stats(port, stats);
    return 0;
  }
  if (rte_eth_stats_get(port->id, &raw) < 0)
    return pg_fail("%s has no statistics", port->name);
  *stats = (struct port_stats){
    .ipackets = raw.ipackets, .opackets = raw.opackets,
    .ibytes = raw.ibytes, .obytes = raw.obytes,
    .imissed = raw.imissed, .ierrors = raw.ierrors,
    .oerrors = raw.oerrors, .rx_nombuf = raw.rx_nombuf};
  return 0;
}

int pg_port_link(const struct port *port, struct port_link *link)
{
  struct rte_eth_link raw;
  if (port->own)
    return port->own->link ? port->own->link(port, link)
                           : pg_fail("%s doesn't tell its link status", port->name);
  if (rte_eth_link_get_nowait(port->id, &raw) < 0)
    return pg_fail("%s doesn't tell its link status", port->name);
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
