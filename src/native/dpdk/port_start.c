/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting the DPDK device of a port: its queues, what it does for packets by itself
 * (offloads, hashes of flows, how it frees them), and the memory that it uses.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "../api.h"
#include "../driver.h"
#include "../log.h"
#include "internal.h"

enum {
  DESCRIPTORS = 1024,
  TAP_DESCRIPTORS = 64 /* it holds a packet for each, but reads into the first alone */
};

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

/* A guest has as many queues each way, and Perigee computes its checksums (port/vhost). */
static void set_up_guest(struct port *port, struct rte_eth_conf *conf, uint16_t queues)
{
  pg_guest_watch();
  port->pairs = queues;
  conf->rxmode.offloads = RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM;
}

static int set_up_queues(const struct port *port, uint16_t rx, uint16_t tx, uint16_t rxd,
                         uint16_t txd)
{
  int32_t node = pg_numa_memory(port->numa_node);
  int status = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &rxd, &txd);
  for (uint16_t q = 0; q < rx && status >= 0; q++) {
    status = rte_eth_rx_queue_setup(port->id, q, rxd, node, NULL, port->pool);
    if (status == -ENOMEM && node != SOCKET_ID_ANY)
      status = rte_eth_rx_queue_setup(port->id, q, rxd, SOCKET_ID_ANY, NULL, port->pool);
  }
  for (uint16_t q = 0; q < tx && status >= 0; q++) {
    status = rte_eth_tx_queue_setup(port->id, q, txd, node, NULL);
    if (status == -ENOMEM && node != SOCKET_ID_ANY)
      status = rte_eth_tx_queue_setup(port->id, q, txd, SOCKET_ID_ANY, NULL);
  }
  return status;
}

/* net_e1000_em of DPDK 22.11 sets no vector of a card with MSI-X: its interrupts don't
 * come, and QEMU 7.2 ends in an assertion (e1000e_intrmgr_on_throttling_timer). */
static bool misses_interrupts(const struct rte_eth_dev_info *info)
{
  return strcmp(info->driver_name, "net_e1000_em") == 0;
}

static int configure(struct port *port, const struct port_setup *how,
                     const struct rte_eth_dev_info *info)
{
  struct rte_eth_conf conf = {0};
  uint16_t rx = how->rx, tx = how->tx, rxd = how->rxd;
  if (strcmp(info->driver_name, "net_tap") == 0)
    rxd = RTE_MIN(rxd, TAP_DESCRIPTORS);
  conf.rxmode.mtu = pg_possible_mtu(how->mtu, info);
  port->interrupts = port->interrupts && !misses_interrupts(info);
  conf.intr_conf.rxq = port->interrupts;
  port->guest = strcmp(info->driver_name, "net_vhost") == 0 ? GUEST_OPEN : GUEST_NONE;
  port->special = port->guest != GUEST_NONE;
  if (port->guest)
    set_up_guest(port, &conf, rx = tx = RTE_MAX(rx, tx));
  if (how->offload)
    conf.txmode.offloads = info->tx_offload_capa & TX_OFFLOADS;
  port->fast_free = how->fast_free && can_free_fast(info);
  if (port->fast_free)
    conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  port->offloads = conf.txmode.offloads;
  if (how->spread > 1 && rx > 1)
    spread(port, &conf, info);
  int status = rte_eth_dev_configure(port->id, rx, tx, &conf);
  return status < 0 ? status : set_up_queues(port, rx, tx, rxd, how->txd);
}

/* Let the device's table send hashes to queues `first` to `first + n - 1` in turn. */
static int fill_reta(uint16_t id, uint16_t size, uint16_t n, uint16_t first)
{
  struct rte_eth_rss_reta_entry64 entries[RTE_ETH_RSS_RETA_SIZE_512 /
                                          RTE_ETH_RETA_GROUP_SIZE] = {0};
  if (size == 0 || size > RTE_ETH_RSS_RETA_SIZE_512)
    return -ENOTSUP;
  for (int i = 0; i < size; i++) {
    struct rte_eth_rss_reta_entry64 *e = &entries[i / RTE_ETH_RETA_GROUP_SIZE];
    e->mask |= 1ull << i % RTE_ETH_RETA_GROUP_SIZE;
    e->reta[i % RTE_ETH_RETA_GROUP_SIZE] = first + i % n;
  }
  return rte_eth_dev_rss_reta_update(id, entries, size);
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

/* What DPDK says of drivers that can't tell when something comes is no news. */
static void hush(uint32_t before[3], bool quiet)
{
  static const char *const names[] = {"lib.ethdev", "lib.eal", "pmd.net.virtio.init"};
  for (size_t i = 0; i < RTE_DIM(names); i++) {
    int type = rte_log_register(names[i]);
    if (quiet)
      before[i] = type < 0 ? 0 : rte_log_get_level(type);
    if (before[i] > 0 && before[i] <= RTE_LOG_INFO)
      rte_log_set_level(type, quiet ? (uint32_t)RTE_LOG_CRIT : before[i]);
  }
}

static int find_descriptor(const struct port *port)
{
  uint32_t before[3];
  hush(before, true);
  int fd = rte_eth_dev_rx_intr_ctl_q_get_fd(port->id, port->queue);
  hush(before, false);
  return fd;
}

static int start_once(struct port *port, const struct port_setup *how)
{
  struct rte_eth_dev_info info;
  int status = rte_eth_dev_info_get(port->id, &info);
  if (status < 0 || (status = configure(port, how, &info)) < 0 ||
      (status = pg_device_start(port->id, how->promiscuous)) < 0)
    return status;
  port->interrupts = port->interrupts && find_descriptor(port) >= 0;
  bool some = how->spread > 1 && (how->first > 0 || how->spread < how->rx);
  return some ? fill_reta(port->id, info.reta_size, how->spread, how->first) : 0;
}

/* Where the driver is asked for interrupts and refuses to start with them, without. */
static int start(struct port *port, const struct port_setup *how)
{
  uint32_t before[3];
  bool tries = port->interrupts;
  if (tries)
    hush(before, true);
  int status = start_once(port, how);
  if (tries)
    hush(before, false);
  if (status == 0 || !tries)
    return status;
  rte_eth_dev_stop(port->id);
  port->interrupts = 0;
  return start_once(port, how);
}

/* Has the device so many queues? */
static int check_queues(const struct port *port)
{
  struct port_limits limits;
  pg_port_limits(port, &limits);
  uint16_t most = RTE_MIN(limits.rx, limits.tx);
  return port->queues <= RTE_MAX(most, 1)
           ? 0
           : pg_fail("the device has %u queue%s each way (%s), not %u", most,
                     most == 1 ? "" : "s", pg_port_driver(port), port->queues);
}

/* Configure the device's queues as `how` says, and start it. 0, or -1 and pg_error(). */
int pg_port_start_as(struct port *port, const struct port_setup *how)
{
  if (port->own)
    return 0; /* since it is open */
  pg_iface_keep(port->keeps);
  int status = start(port, how);
  pg_iface_keep("");
  if (status < 0)
    return pg_fail("DPDK can't start %s: %s", port->name,
                   rte_strerror(-status));
  port->started = 1;
  pg_port_watch(port);
  if (how->promiscuous && port->keeps[0])
    port->promiscuous = pg_iface_hold_promiscuous(port->keeps);
  return 0;
}

/* The same with as many queues each way as the port says; mtu 0 leaves the device's own.
 * `offload`: let the device compute checksums and add VLAN tags, as far as it can.
 * `fast_free`: let it free packets without a look at each, if it can and may; port->fast_free
 * says whether it does. */
int pg_port_start(struct port *port, uint32_t mtu, bool promiscuous, bool offload,
                  bool fast_free)
{
  uint16_t queues = RTE_MAX(RTE_MAX(port->queues, port->pairs), 1);
  if (!port->own && check_queues(port) < 0)
    return -1;
  return pg_port_start_as(port, &(struct port_setup){
    .mtu = mtu, .rx = queues, .tx = queues, .rxd = DESCRIPTORS, .txd = DESCRIPTORS,
    .spread = port->queues, .promiscuous = promiscuous, .offload = offload,
    .fast_free = fast_free});
}
