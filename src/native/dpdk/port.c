/* SPDX-License-Identifier: Apache-2.0
 *
 * Ports: plugging a DPDK device in, starting it with one queue each way, its
 * statistics, and unplugging it. Which device and which arguments is decided
 * in Lua (lib/port/spec.lua); packets move in burst.c.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "../api.h"
#include "internal.h"
#include "port_io.h"

enum { DESCRIPTORS = 1024, RING_PORT_SIZE = 1024 };

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

/* Plug the device `devargs` describes ("net_null_pg0,size=60" or a PCI
 * address; rte_dev_probe). The kernel interface `keeps` ("": none) is to stay as it is.
 * 0, or -1 and pg_error(). */
int pg_port_plug(struct port *port, const char *devargs, const char *keeps)
{
  char name[RTE_ETH_NAME_MAX_LEN];
  uint16_t id;
  pthread_mutex_lock(&plugging);
  pg_iface_keep(keeps);
  int status = rte_dev_probe(devargs);
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
  char port_name[RTE_ETH_NAME_MAX_LEN];
  struct rte_ring *rx = ring_of(name, side), *tx = ring_of(name, !side);
  if (!rx || !tx)
    return pg_fail("no ring '%s': %s", name, rte_strerror(rte_errno));
  snprintf(port_name, sizeof port_name, "pg_%s_%d", name, side);
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

/* What devices may do as they send, where they are asked to (offload.c does the
 * rest). Drivers of cards such as i40e and ixgbe send by vector instructions only
 * while none of it is on. */
enum { TX_OFFLOADS = RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
                     RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM };

/* Both directions of a flow go to the same queue (flows.c says why). */
static uint8_t symmetric_key[64];

/* Ask the device to spread flows over its queues by a symmetric hash. */
static int spread(const struct port *port, struct rte_eth_conf *conf,
                  const struct rte_eth_dev_info *info)
{
  const uint64_t flows = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP |
                         RTE_ETH_RSS_SCTP;
  if (port->queues > RTE_MIN(info->max_rx_queues, info->max_tx_queues))
    return -EINVAL;
  for (size_t i = 0; i < sizeof symmetric_key; i += 2) {
    symmetric_key[i] = 0x6d;
    symmetric_key[i + 1] = 0x5a;
  }
  if (!(info->flow_type_rss_offloads & flows))
    return 0; /* each queue has packets of its own */
  conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
  conf->rx_adv_conf.rss_conf = (struct rte_eth_rss_conf){
    .rss_key = symmetric_key,
    .rss_key_len = info->hash_key_size ? info->hash_key_size : 40,
    .rss_hf = info->flow_type_rss_offloads & flows};
  return 0;
}

/* One queue each way, its descriptors in memory of the node. */
static int set_up_queue(const struct port *port, uint16_t q, uint16_t rxd,
                        uint16_t txd, int32_t node)
{
  int status = rte_eth_rx_queue_setup(port->id, q, rxd, node, NULL, port->pool);
  return status < 0 ? status : rte_eth_tx_queue_setup(port->id, q, txd, node, NULL);
}

static int configure(struct port *port, uint32_t mtu, bool offload)
{
  int32_t node = pg_numa_memory(port->numa_node);
  struct rte_eth_conf conf = {.rxmode.mtu = mtu};
  struct rte_eth_dev_info info;
  uint16_t rxd = DESCRIPTORS, txd = DESCRIPTORS;
  uint16_t queues = RTE_MAX(port->queues, 1);
  int status = rte_eth_dev_info_get(port->id, &info);
  if (status < 0)
    return status;
  if (info.max_mtu && conf.rxmode.mtu > info.max_mtu)
    conf.rxmode.mtu = info.max_mtu;
  if (offload)
    conf.txmode.offloads = info.tx_offload_capa & TX_OFFLOADS;
  port->offloads = conf.txmode.offloads;
  if (queues > 1 && (status = spread(port, &conf, &info)) < 0)
    return status;
  if ((status = rte_eth_dev_configure(port->id, queues, queues, &conf)) < 0 ||
      (status = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &rxd, &txd)) < 0)
    return status;
  for (uint16_t q = 0; q < queues && status >= 0; q++) {
    status = set_up_queue(port, q, rxd, txd, node);
    if (status == -ENOMEM && node != SOCKET_ID_ANY)
      status = set_up_queue(port, q, rxd, txd, SOCKET_ID_ANY);
  }
  return status;
}

static int start(struct port *port, uint32_t mtu, bool promiscuous, bool offload)
{
  int status = configure(port, mtu, offload);
  if (status >= 0)
    status = rte_eth_dev_start(port->id);
  if (status >= 0 && promiscuous)
    rte_eth_promiscuous_enable(port->id); /* virtual ones may not know it */
  return status;
}

/* Configure the queues each way and start; mtu 0 leaves the device's own. `offload`:
 * let the device compute checksums and add VLAN tags, as far as it can. */
int pg_port_start(struct port *port, uint32_t mtu, bool promiscuous, bool offload)
{
  if (port->own)
    return 0; /* since it is open */
  pg_iface_keep(port->keeps);
  int status = start(port, mtu, promiscuous, offload);
  pg_iface_keep("");
  if (status < 0)
    return pg_fail("DPDK can't start %s: %s", port->name,
                   rte_strerror(-status));
  port->started = 1;
  if (promiscuous && port->keeps[0])
    port->promiscuous = pg_iface_hold_promiscuous(port->keeps);
  return 0;
}

static int unplug(struct port *port)
{
  struct rte_eth_dev_info info;
  int status = rte_eth_dev_info_get(port->id, &info);
  struct rte_device *device = status == 0 ? info.device : NULL;
  bool shared = !device; /* a ring port has no device to remove */
  if (port->started)
    rte_eth_dev_stop(port->id);
  port->started = 0;
  if (port->lent)
    return 0;
  status = rte_eth_dev_close(port->id);
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

/* Probe one PCI device, so that it gets a port number. */
int pg_probe_pci(const char *address)
{
  int status = rte_dev_probe(address);
  return status < 0 ? pg_fail("DPDK can't open %s: %s", address,
                              rte_strerror(-status))
                    : 0;
}
