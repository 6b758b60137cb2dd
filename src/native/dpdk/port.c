/* SPDX-License-Identifier: Apache-2.0
 *
 * Ports: plugging a DPDK device in, starting it with one queue each way, and unplugging
 * it. Which device and which arguments is decided in Lua (lib/port/spec.lua); packets
 * move in burst.c.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "../api.h"
#include "internal.h"
#include "log.h"
#include "port_io.h"

enum { DESCRIPTORS = 1024, RING_PORT_SIZE = 1024, ENDING_US = 50 };

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
static void spread(const struct port *port, struct rte_eth_conf *conf,
                   const struct rte_eth_dev_info *info)
{
  const uint64_t flows = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP |
                         RTE_ETH_RSS_SCTP;
  for (size_t i = 0; i < sizeof symmetric_key; i += 2) {
    symmetric_key[i] = 0x6d;
    symmetric_key[i + 1] = 0x5a;
  }
  if (!(info->flow_type_rss_offloads & flows)) {
    if (info->device && !port->guest && strcmp(info->driver_name, "net_null") != 0)
      pg_logf(LOG_WARNING, "port %s: its driver, %s, doesn't spread flows by their hash "
              "(RSS): all packets may come by one queue", port->name, info->driver_name);
    return; /* null: each queue has packets of its own; a guest spreads them itself */
  }
  conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
  conf->rx_adv_conf.rss_conf = (struct rte_eth_rss_conf){
    .rss_key = symmetric_key,
    .rss_key_len = info->hash_key_size ? info->hash_key_size : 40,
    .rss_hf = info->flow_type_rss_offloads & flows};
}

/* One queue each way, its descriptors in memory of the node. */
static int set_up_queue(const struct port *port, uint16_t q, uint16_t rxd,
                        uint16_t txd, int32_t node)
{
  int status = rte_eth_rx_queue_setup(port->id, q, rxd, node, NULL, port->pool);
  return status < 0 ? status : rte_eth_tx_queue_setup(port->id, q, txd, node, NULL);
}

/* The MTU, or the most that the device takes. Some (net_e1000_em) only tell their longest
 * frame, and rte_eth_dev_configure() refuses longer ones. */
uint32_t pg_possible_mtu(uint32_t mtu, const struct rte_eth_dev_info *info)
{
  enum { AROUND = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN };
  if (info->max_mtu && mtu > info->max_mtu)
    mtu = info->max_mtu;
  bool framed = info->max_mtu == UINT16_MAX && info->max_rx_pktlen > AROUND;
  return framed ? RTE_MIN(mtu, info->max_rx_pktlen - AROUND) : mtu;
}

/* Ports that are opened when this is set look at each packet before they free it. */
_Atomic bool pg_other_packets;

/* May the device put what it has sent back into the pool of the first packet without a
 * look at each? Where all packets are of one pool, and nobody else has one of them
 * (rte_ethdev.h, RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE). */
static bool can_free_fast(const struct rte_eth_dev_info *info)
{
  return info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE &&
         pg_numa_nodes() == 1 && !atomic_load(&pg_other_packets);
}

static int configure(struct port *port, uint32_t mtu, bool offload, bool fast_free)
{
  int32_t node = pg_numa_memory(port->numa_node);
  struct rte_eth_conf conf = {0};
  struct rte_eth_dev_info info;
  uint16_t rxd = DESCRIPTORS, txd = DESCRIPTORS;
  uint16_t queues = RTE_MAX(RTE_MAX(port->queues, port->pairs), 1);
  int status = rte_eth_dev_info_get(port->id, &info);
  if (status < 0)
    return status;
  conf.rxmode.mtu = pg_possible_mtu(mtu, &info);
  port->guest = strcmp(info.driver_name, "net_vhost") == 0 ? GUEST_OPEN : GUEST_NONE;
  if (port->guest) { /* ports/guest.c does them */
    pg_guest_watch();
    port->pairs = queues;
    conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM;
  }
  if (offload)
    conf.txmode.offloads = info.tx_offload_capa & TX_OFFLOADS;
  port->fast_free = fast_free && can_free_fast(&info);
  if (port->fast_free)
    conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  port->offloads = conf.txmode.offloads;
  if (port->queues > 1)
    spread(port, &conf, &info);
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

/* Start DPDK's port `id`. It receives all from the first packet on: a card that is made
 * promiscuous once it runs filters until then. Some take that only as they run, and
 * virtual ones not at all. */
int pg_device_start(uint16_t id, bool promiscuous)
{
  if (promiscuous)
    rte_eth_promiscuous_enable(id);
  int status = rte_eth_dev_start(id);
  if (status >= 0 && promiscuous && rte_eth_promiscuous_get(id) != 1)
    rte_eth_promiscuous_enable(id);
  return status;
}

static int start(struct port *port, uint32_t mtu, bool promiscuous, bool offload,
                 bool fast_free)
{
  int status = configure(port, mtu, offload, fast_free);
  return status < 0 ? status : pg_device_start(port->id, promiscuous);
}

/* Has the device so many queues? */
static int check_queues(const struct port *port)
{
  struct rte_eth_dev_info info;
  if (port->queues < 2 || rte_eth_dev_info_get(port->id, &info) < 0)
    return 0;
  uint16_t most = RTE_MIN(info.max_rx_queues, info.max_tx_queues);
  return port->queues <= most
           ? 0
           : pg_fail("the device has %u queue%s each way (%s), not %u", most,
                     most == 1 ? "" : "s", info.driver_name, port->queues);
}

/* Configure the queues each way and start; mtu 0 leaves the device's own. `offload`:
 * let the device compute checksums and add VLAN tags, as far as it can. `fast_free`: let it
 * free packets without a look at each, if it can and may; whether it does, port->fast_free
 * tells. */
int pg_port_start(struct port *port, uint32_t mtu, bool promiscuous, bool offload,
                  bool fast_free)
{
  if (port->own)
    return 0; /* since it is open */
  if (check_queues(port) < 0)
    return -1;
  pg_iface_keep(port->keeps);
  int status = start(port, mtu, promiscuous, offload, fast_free);
  pg_iface_keep("");
  if (status < 0)
    return pg_fail("DPDK can't start %s: %s", port->name,
                   rte_strerror(-status));
  port->started = 1;
  pg_port_watch(port);
  if (promiscuous && port->keeps[0])
    port->promiscuous = pg_iface_hold_promiscuous(port->keeps);
  return 0;
}

struct ending {
  const struct port *port;
  int status;
  atomic_bool done;
};

static void stop_and_close(void *argument)
{
  struct ending *e = argument;
  if (e->port->started)
    rte_eth_dev_stop(e->port->id);
  e->status = e->port->lent ? 0 : rte_eth_dev_close(e->port->id);
  atomic_store(&e->done, true);
}

/* Stop and close the device. net_memif has no lock against its own callbacks, of peers
 * that come and go: it ends in the thread that runs these. */
static int end(const struct port *port)
{
  struct ending e = {.port = port};
  if (strncmp(port->name, "net_memif", 9) != 0 ||
      rte_eal_alarm_set(1, stop_and_close, &e) < 0)
    stop_and_close(&e);
  while (!atomic_load(&e.done)) {
    pg_now(); /* no burst is going on, which that thread may wait for */
    usleep(ENDING_US);
  }
  return e.status;
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
