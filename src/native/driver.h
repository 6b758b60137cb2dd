/* SPDX-License-Identifier: Apache-2.0
 *
 * A burst from a port, or to it: by DPDK's driver, or by one of Perigee's own for the
 * kinds of port that DPDK doesn't do well (port/KIND). Costs a branch a burst.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_ethdev.h>
#include <rte_version.h>

#include "../net/wire/wire.h"
#include "api.h"

/* A kind of port that Perigee drives itself; `port->state` is the driver's. */
struct own_driver {
  const char *name;
  /* As rte_eth_rx_burst: up to `n` packets of the port's pool, one segment each; what
   * the driver loses it counts. */
  uint16_t (*receive)(struct port *port, struct rte_mbuf **packets, uint16_t n);
  /* As rte_eth_tx_burst: how many were taken. Those are the driver's to free. */
  uint16_t (*send)(struct port *port, struct rte_mbuf **packets, uint16_t n);
  void (*stats)(const struct port *port, struct port_stats *stats);
  /* 0, or -1 for what the port hasn't; each may be NULL. */
  int (*link)(const struct port *port, struct port_link *link);
  int (*mac)(const struct port *port, uint8_t *mac);
  /* What else happened to it, by name (port_query.c); may be NULL. */
  int32_t (*events)(const struct port *port, struct port_xstat *list, uint32_t n);
  /* Give back everything; 0, or -1 and pg_error() if something was lost by it. */
  int (*close)(struct port *port);
  /* What of RTE_ETH_TX_OFFLOAD_* the driver does as it sends, and by which of DPDK's
   * ports; NULL: nothing. */
  uint64_t (*offloads)(const struct port *port, uint16_t *id);
};

/* As `receive` and `send` of a port that is away: nothing comes, and what is to be sent is
 * dropped as tx_unplugged (port_gone.c). */
uint16_t pg_receive_nothing(struct port *port, struct rte_mbuf **packets, uint16_t n);
uint16_t pg_send_nowhere(struct port *port, struct rte_mbuf **packets, uint16_t n);

/* Make `port` one of that driver's, which DPDK knows nothing of. */
static inline void pg_port_own(struct port *port, const struct own_driver *driver,
                               void *state)
{
  *port = (struct port){.own = driver, .special = 1, .state = state, .id = UINT16_MAX,
                        .numa_node = -1, .max_frame = PACKET_MAX_PAYLOAD,
                        .promiscuous = -1};
}

/* From a virtual machine, and to it (port/vhost/vhost.c); hear which queues it uses, from the
 * first such port on (queues.c). */
void pg_guest_watch(void);
uint16_t pg_guest_receive(struct port *port, struct rte_mbuf **packets, uint16_t n);
uint16_t pg_guest_send(struct port *port, struct rte_mbuf **packets, uint16_t n);

/* Ports of other kinds, and DPDK's queues with callbacks. Not inlined, so that for the others
 * fewer registers are saved, which counts where few packets come at once. */
static __rte_noinline __rte_unused uint16_t receive_otherwise(struct port *port,
                                                              struct rte_mbuf **packets,
                                                              uint16_t n)
{
  if (port->own)
    return port->own->receive(port, packets, n);
  if (port->guest)
    return pg_guest_receive(port, packets, n);
  return rte_eth_rx_burst(port->id, port->queue, packets, n);
}

static __rte_noinline __rte_unused uint16_t send_otherwise(struct port *port,
                                                           struct rte_mbuf **packets,
                                                           uint16_t n)
{
  if (port->own)
    return port->own->send(port, packets, n);
  if (port->guest)
    return pg_guest_send(port, packets, n);
  return rte_eth_tx_burst(port->id, port->queue, packets, n);
}

static inline uint16_t port_receive(struct port *port, struct rte_mbuf **packets,
                                    uint16_t n)
{
  if (unlikely(port->special)) /* and has no number, if it is our own */
    return receive_otherwise(port, packets, n);
  const struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[port->id];
  if (unlikely(ops->rxq.clbk[port->queue]))
    return receive_otherwise(port, packets, n);
  return ops->rx_pkt_burst(ops->rxq.data[port->queue], packets, n);
}

/* Is the packet as long as the port takes, or shorter? A VLAN tag comes on top, of 802.1Q
 * alone: Linux refuses other frames of such a length (packet_extra_vlan_len_allowed). */
static inline bool port_has_room(const struct port *port, const struct rte_mbuf *m)
{
  if (likely(m->data_len <= port->max_frame))
    return true;
  const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
  return m->data_len > ETHERNET_HEADER && get16(frame + MAC_ADDRESSES) == TYPE_8021Q &&
         m->data_len <= port->max_frame + VLAN_TAG;
}

/* A frame came that is longer than a packet can be. */
static inline void port_drop_long(struct port *port)
{
  port->rx_oversize++;
  port->rxpackets++;
  port->account->received++;
  port->account->port_drops++;
}

static inline uint16_t port_send(struct port *port, struct rte_mbuf **packets,
                                 uint16_t n)
{
  if (unlikely(port->special))
    return send_otherwise(port, packets, n);
  const struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[port->id];
  if (unlikely(ops->txq.clbk[port->queue]))
    return send_otherwise(port, packets, n);
  return ops->tx_pkt_burst(ops->txq.data[port->queue], packets, n);
}
