/* SPDX-License-Identifier: Apache-2.0
 *
 * What is received from virtual machines (DPDK's net_vhost), which are believed nothing.
 * Checksums that a guest left to its card are computed here: net_vhost does that too, but
 * takes the length of the IP header from the packet, and ends the process if that is more
 * than the packet has (vhost_dev_rx_sw_csum, seen in DPDK 22.11.11).
 */
#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_eth_vhost.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_vhost.h>

#include "../../native/api.h"
#include "../../native/driver.h"
#include "../../native/host.h"
#include "../../native/log.h"
#include "../../net/checksum/checksum.h"
#include "../../net/gso/layers.h"
#include "burst.h"
#include "queues.h"
#include "vhost.h"

/* Packets that the driver may take for a burst. It takes as many as a guest's chain of
 * buffers is long, and doesn't see where the sum of their lengths overflows. */
enum { MOST_TAKEN = 2048 };

enum { QUIET_S = 10 }; /* between two sentences about a guest */

static bool lacks_checksum(const struct rte_mbuf *m)
{
  return (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_NONE;
}

static void finish_checksum(struct rte_mbuf *m)
{
  struct layers l;
  bool tcp = (m->packet_type & RTE_PTYPE_L4_MASK) == RTE_PTYPE_L4_TCP;
  uint8_t protocol = tcp ? IPPROTO_TCP : IPPROTO_UDP;
  m->ol_flags &= ~RTE_MBUF_F_RX_L4_CKSUM_MASK;
  if (pg_layers(&l, rte_pktmbuf_mtod(m, uint8_t *), m->data_len, protocol, 0))
    pg_fill_l4((struct packet *)m, l.of[l.count - 1].at, l.l4, protocol);
}

/* Drop what is longer than packets can be: as if it had been received, for it is counted
 * as dropped by the port. How many stay. */
static uint16_t drop_longer(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  uint16_t kept = pg_tidy(port, packets, n, NULL);
  port->rxpackets += n - kept;
  port->account->received += n - kept;
  return kept;
}

/* A packet is one segment of the queue's pool (the driver's linear-buffer), but may be
 * longer than packets can be. */
uint16_t pg_guest_receive(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  uint32_t longest = 0;
  if (unlikely(port->guest == GUEST_SHUT))
    return 0;
  pg_pool_allow(MOST_TAKEN);
  pg_vhost_checksums_begin();
  n = port->pairs == 1 ? pg_vhost_receive(port->id, 0, packets, n)
                       : pg_guest_receive_all(port, packets, n);
  pg_vhost_checksums_end();
  pg_pool_allow(-1);
  for (uint16_t i = 0; i < n; i++) {
    if (unlikely(lacks_checksum(packets[i])))
      finish_checksum(packets[i]);
    longest = RTE_MAX(longest, packets[i]->data_len);
  }
  return likely(longest <= PACKET_MAX_PAYLOAD) ? n : drop_longer(port, packets, n);
}

uint16_t pg_guest_send(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  if (unlikely(port->guest == GUEST_SHUT))
    return 0;
  return port->pairs == 1 ? rte_eth_tx_burst(port->id, 0, packets, n)
                          : pg_guest_send_all(port, packets, n);
}

/* How many more buffers the guest says to wait than the ring has room for, or 0. */
static uint32_t excess(int vid, uint16_t ring, uint32_t waiting, uint32_t *size)
{
  struct rte_vhost_vring vring;
  if (rte_vhost_get_vhost_vring(vid, ring, &vring) < 0)
    return 0;
  *size = vring.size;
  return waiting > vring.size ? waiting : 0;
}

static uint32_t lie(const struct port *port, int vid, uint32_t *size)
{
  uint32_t told = 0;
  if (vid < 0)
    return 0;
  for (uint16_t q = port->queue; q < port->pairs && !told; q += RTE_MAX(port->queues, 1)) {
    uint16_t receives = 2 * q, sends = receives + 1; /* as the guest sees them */
    uint16_t waiting = rte_vhost_rx_queue_count(vid, sends); /* modulo 2^16 */
    told = excess(vid, sends, waiting, size);
    if (!told)
      told = excess(vid, receives, rte_vhost_avail_entries(vid, receives), size);
  }
  return told;
}

static void tell(int vid, uint32_t waiting, uint32_t size)
{
  char path[PATH_MAX] = "";
  rte_vhost_get_ifname(vid, path, sizeof path);
  pg_logf(LOG_WARNING, "the virtual machine at '%s' says that %u buffers wait in a ring of "
          "%u; its port is shut until it resets its card", path, waiting, size);
}

static void tell_of_queues(const struct port *port, int vid)
{
  char path[PATH_MAX] = "";
  uint16_t pairs = vid < 0 ? 0 : pg_guest_pairs_beyond(port);
  if (!pairs)
    return;
  rte_vhost_get_ifname(vid, path, sizeof path);
  pg_logf(LOG_WARNING, "the virtual machine at '%s' uses %u pairs of queues, and its port has "
          "%u; what it sends by the others is lost: give the port queues=%u, or let the "
          "machine use fewer (ethtool -L)", path, pairs, port->pairs, pairs);
}

/* Called now and then: shut the port for as long as the guest's rings can't be true. */
int pg_guest_tend(struct port *port)
{
  uint32_t size = 0;
  if (!port->guest)
    return 0;
  int vid = rte_eth_vhost_get_vid_from_port_id(port->id);
  uint32_t waiting = lie(port, vid, &size);
  tell_of_queues(port, vid);
  double now = pg_monotonic();
  if (waiting && port->guest != GUEST_SHUT && now > port->quiet_until) {
    port->quiet_until = now + QUIET_S;
    tell(vid, waiting, size);
  }
  port->guest = waiting ? GUEST_SHUT : GUEST_OPEN;
  return 0;
}
