/* SPDX-License-Identifier: Apache-2.0
 *
 * Ports: plugging a DPDK device in, and unplugging it. It is started in port_start.c;
 * which device and which arguments is decided in Lua (lib/port/spec.lua); packets move
 * in burst.c.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "../api.h"
#include "../driver.h"
#include "internal.h"

enum { RING_PORT_SIZE = 1024 };

/* Threads of workers and of ports plug devices; DPDK's list of them has no lock. */
static pthread_mutex_t plugging = PTHREAD_MUTEX_INITIALIZER;

static void adopt(struct port *port, uint16_t id)
{
  memset(port, 0, sizeof *port);
  port->id = id;
  port->numa_node = pg_numa_of_port(id);
  port->max_frame = PACKET_MAX_PAYLOAD;
  port->promiscuous = -1;
  rte_eth_dev_get_name_by_port(id, port->name);
}

/* rte_dev_probe() of a virtual device takes 128 bytes since DPDK 24.11 (memif's path may have
 * as many alone); rte_vdev_init() any number. 0, or a negative error number. */
static int probe(const char *devargs)
{
  char name[RTE_DEV_NAME_MAX_LEN];
  size_t length = strcspn(devargs, ",");
  if (strncmp(devargs, "net_", 4) != 0 || length >= sizeof name)
    return rte_dev_probe(devargs);
  snprintf(name, sizeof name, "%.*s", (int)length, devargs);
  const char *arguments = devargs[length] ? devargs + length + 1 : "";
  int status = rte_vdev_init(name, arguments);
  return status > 0 ? -ENODEV : status; /* there is no such driver */
}

/* Plug the device `devargs` describes ("net_null_pg0,size=60" or a PCI address). The kernel
 * interface `keeps` ("": none) is to stay as it is. 0, or -1 and pg_error(). */
int pg_port_plug(struct port *port, const char *devargs, const char *keeps)
{
  char name[RTE_ETH_NAME_MAX_LEN];
  uint16_t id;
  pthread_mutex_lock(&plugging);
  pg_iface_keep(keeps);
  int status = probe(devargs);
  pg_iface_keep("");
  pthread_mutex_unlock(&plugging);
  if (status < 0)
    return pg_fail("DPDK can't open %s: %s", devargs, rte_strerror(-status));
  snprintf(name, sizeof name, "%.*s", (int)strcspn(devargs, ","), devargs);
  if (rte_eth_dev_get_port_by_name(name, &id) < 0)
    return pg_fail("DPDK opened %s, but it isn't an Ethernet device", name);
  adopt(port, id);
  snprintf(port->keeps, sizeof port->keeps, "%s", keeps);
  return 0;
}

static struct rte_ring *ring_of(const char *name, int side)
{
  char ring_name[RTE_RING_NAMESIZE];
  snprintf(ring_name, sizeof ring_name, "pg_%s_%d", name, side);
  struct rte_ring *ring = rte_ring_lookup(ring_name);
  return ring ? ring
              : rte_ring_create(ring_name, RING_PORT_SIZE,
                                pg_numa_memory(pg_numa_here()),
                                RING_F_SP_ENQ | RING_F_SC_DEQ);
}

/* Plug end `side` (0 or 1) of the pair of rings called `name`: what one end
 * sends, the other receives (rte_eth_from_rings). */
int pg_port_ring(struct port *port, const char *name, int side)
{
  static unsigned made;
  char port_name[RTE_ETH_NAME_MAX_LEN];
  struct rte_ring *rx = ring_of(name, side), *tx = ring_of(name, !side);
  if (!rx || !tx)
    return pg_fail("no ring '%s': %s", name, rte_strerror(rte_errno));
  /* DPDK puts "net_ring_" before it, and has room for 28 characters then. */
  snprintf(port_name, sizeof port_name, "pg%u",
           __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED));
  int id = rte_eth_from_rings(port_name, &rx, 1, &tx, 1, RTE_MAX(pg_numa_here(), 0));
  if (id < 0)
    return pg_fail("no ring port '%s': %s", name, rte_strerror(rte_errno));
  adopt(port, id);
  port->numa_node = -1; /* that of who uses it */
  return 0;
}

/* Free the pair of rings called `name` with the packets in them, when both ends
 * are unplugged. */
void pg_ring_free(const char *name)
{
  for (int side = 0; side < 2; side++) {
    struct rte_mbuf *packet;
    char ring_name[RTE_RING_NAMESIZE];
    snprintf(ring_name, sizeof ring_name, "pg_%s_%d", name, side);
    struct rte_ring *ring = rte_ring_lookup(ring_name);
    while (ring && rte_ring_dequeue(ring, (void **)&packet) == 0)
      rte_pktmbuf_free(packet);
    rte_ring_free(ring);
  }
}

/* Take over the DPDK port of this number, which exists already. */
int pg_port_adopt(struct port *port, uint16_t id)
{
  if (!rte_eth_dev_is_valid_port(id))
    return pg_fail("there is no DPDK port %u", id);
  adopt(port, id);
  rte_eth_stats_reset(id); /* count from here on */
  return 0;
}

/* Receive into a pool of small frames of its own (AF_XDP); burst.c copies
 * what comes from there into ordinary packets. */
int pg_port_small_pool(struct port *port)
{
  char name[RTE_MEMPOOL_NAMESIZE];
  snprintf(name, sizeof name, "small_%u", port->id);
  port->pool = pg_small_pool(name, port->numa_node);
  port->tidy = 1;
  return port->pool ? 0 : pg_fail("no memory for the frames of %s", port->name);
}

/* Stop and close the device. */
static int end(const struct port *port)
{
  if (port->started)
    rte_eth_dev_stop(port->id);
  return port->lent ? 0 : rte_eth_dev_close(port->id);
}

static int unplug(struct port *port)
{
  struct rte_eth_dev_info info;
  int status = rte_eth_dev_info_get(port->id, &info);
  struct rte_device *device = status == 0 ? info.device : NULL;
  bool shared = !device; /* a ring port has no device to remove */
  if (port->started)
    pg_port_unwatch(port);
  status = end(port);
  port->started = 0;
  if (port->lent)
    return 0;
  pthread_mutex_lock(&plugging);
  if (!shared)
    rte_dev_remove(device);
  pthread_mutex_unlock(&plugging);
  if (port->pool && !pg_pool_is_ours(port->pool))
    rte_mempool_free(port->pool);
  port->pool = NULL;
  return status < 0 ? pg_fail("DPDK can't close %s", port->name) : 0;
}

/* Stop, close and remove the device; packets its driver held are freed. A lent
 * one is only stopped: it couldn't be had again. */
int pg_port_unplug(struct port *port)
{
  if (port->own)
    return port->own->close(port);
  pg_iface_keep(port->keeps);
  int status = unplug(port);
  pg_iface_keep("");
  if (port->promiscuous >= 0)
    close(port->promiscuous);
  port->promiscuous = -1;
  return status;
}

/* Probe one PCI device, so that it gets a port number. */
int pg_probe_pci(const char *address)
{
  int status = rte_dev_probe(address);
  return status < 0 ? pg_fail("DPDK can't open %s: %s", address,
                              rte_strerror(-status))
                    : 0;
}
