/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be changed of a port while it runs. Ports of our own receive whatever comes,
 * and have no addresses to add. Each returns 0, or -1 and pg_error().
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "../api.h"
#include "internal.h"

static int outcome(const struct port *port, const char *what, int status)
{
  return status < 0 ? pg_fail("%s: %s: %s", port->name, what, rte_strerror(-status)) : 0;
}

/* Receive what is for any address, or not. */
int pg_port_set_promiscuous(const struct port *port, bool on)
{
  if (port->own)
    return 0;
  return outcome(port, "promiscuous mode", on ? rte_eth_promiscuous_enable(port->id)
                                              : rte_eth_promiscuous_disable(port->id));
}

/* Bytes behind the Ethernet header of the longest frame. */
int pg_port_set_mtu(const struct port *port, uint32_t mtu)
{
  int status = port->own ? -ENOTSUP : rte_eth_dev_set_mtu(port->id, mtu);
  if (status == -ENOTSUP)
    return pg_fail("its driver (%s) doesn't change the MTU", pg_port_driver(port));
  return status < 0 ? pg_fail("%s: MTU %u: %s", port->name, mtu, rte_strerror(-status)) : 0;
}

static struct rte_ether_addr address_of(const uint8_t *mac)
{
  struct rte_ether_addr address;
  memcpy(address.addr_bytes, mac, sizeof address.addr_bytes);
  return address;
}

/* Receive what is for this address, too. */
int pg_port_add_mac(const struct port *port, const uint8_t *mac)
{
  struct rte_ether_addr address = address_of(mac);
  if (port->own)
    return 0;
  int status = rte_eth_dev_mac_addr_add(port->id, &address, 0);
  if (status != -ENOTSUP)
    return outcome(port, "MAC address", status);
  return rte_eth_promiscuous_get(port->id) == 1
           ? 0
           : pg_fail("%s can't receive for a second MAC address (%s), unless it is "
                     "promiscuous: setPromisc(true)", port->name, pg_port_driver(port));
}

/* No more for that one. */
int pg_port_remove_mac(const struct port *port, const uint8_t *mac)
{
  struct rte_ether_addr address = address_of(mac);
  int status = port->own ? 0 : rte_eth_dev_mac_addr_remove(port->id, &address);
  return outcome(port, "MAC address", status == -ENOTSUP ? 0 : status);
}

/* Let the card itself send at most so many Mbit/s by that queue (0: no limit). */
int pg_port_limit_queue(const struct port *port, uint16_t queue, uint32_t mbit)
{
  int status = port->own ? -ENOTSUP
                         : rte_eth_set_queue_rate_limit(port->id, queue, mbit);
  return outcome(port, "rate of a queue", status);
}
