/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets between a port and a link: one DPDK burst straight into the link's
 * ring, or out of it. Drivers with vector code return nothing when asked for
 * fewer than 4 packets, so a burst is never cut short at the ring's end.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "api.h"
#include "internal.h"

enum { MASK = LINK_RING_SIZE - 1, SMALLEST_RX = 32 };

#define VLAN_TAG_SIZE 4

/* Bits a frame takes on the wire: 8 bytes preamble, 12 gap, 4 CRC, and no
 * frame shorter than 60 (IEEE 802.3, clause 4.2). */
static inline uint64_t wire_bits(uint16_t length)
{
  return 8 * (8 + 12 + 4 + RTE_MAX(length, 60));
}

static inline uint32_t readable(const struct link *link)
{
  return (uint32_t)link->write - (uint32_t)link->read;
}

/* A packet of our pool with the bytes of `m`, which may be chained; NULL if
 * it is too long or there is none. Frees `m`. */
static struct rte_mbuf *copied(struct port *port, struct rte_mbuf *m)
{
  uint32_t length = m->pkt_len;
  struct rte_mbuf *copy = NULL;
  if (length > PACKET_MAX_PAYLOAD) {
    port->rx_oversize++;
    port->account->port_drops++;
  } else if (!(copy = rte_pktmbuf_alloc(pg_packet_pool()))) {
    port->rx_nomem++;
    port->account->port_drops++;
  } else {
    char *to = rte_pktmbuf_append(copy, length);
    const char *from = rte_pktmbuf_read(m, 0, length, to);
    if (from != to)
      memcpy(to, from, length);
  }
  rte_pktmbuf_free(m);
  return copy;
}

/* Make every packet one segment of our pool, of legal length; how many stay. */
static uint16_t tidy(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  const struct rte_mempool *pool = pg_packet_pool();
  uint16_t kept = 0;
  for (uint16_t i = 0; i < n; i++) {
    struct rte_mbuf *m = packets[i];
    if (m->nb_segs != 1 || m->pool != pool || m->data_len > PACKET_MAX_PAYLOAD)
      m = copied(port, m);
    if (m)
      packets[kept++] = m;
  }
  return kept;
}

/* Receive one burst (rte_eth_rx_burst) into the link; the number of packets.
 * What the link has no room for stays in the device. */
int pg_receive(struct port *port, struct link *link)
{
  struct rte_mbuf *aside[PORT_BURST];
  uint32_t room = LINK_MAX_PACKETS - readable(link);
  uint32_t slot = (uint32_t)link->write & MASK;
  uint16_t want = RTE_MIN(room, (uint32_t)PORT_BURST);
  if (want < SMALLEST_RX)
    return 0;
  bool wraps = slot + want > LINK_RING_SIZE;
  struct rte_mbuf **to =
    wraps ? aside : (struct rte_mbuf **)&link->packets[slot];
  uint16_t n = rte_eth_rx_burst(port->id, 0, to, want);
  port->found_nothing = n == 0;
  port->rxpackets += n;
  port->account->received += n;
  if (port->tidy)
    n = tidy(port, to, n);
  if (wraps)
    for (uint16_t i = 0; i < n; i++)
      link->packets[(slot + i) & MASK] = (struct packet *)aside[i];
  link->write = (int32_t)((uint32_t)link->write + n);
  return n;
}

static inline bool sendable(struct port *port, const struct rte_mbuf *m)
{
  uint16_t length = m->data_len;
  if (unlikely(length < port->min_frame)) {
    port->tx_runt++;
    return false;
  }
  if (likely(length <= port->max_frame))
    return true;
  const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
  bool tagged = length > 14 && frame[12] == 0x81 && frame[13] == 0x00;
  if (tagged && length <= port->max_frame + VLAN_TAG_SIZE)
    return true;
  port->tx_oversize++;
  return false;
}

/* Send everything in the link (rte_eth_tx_burst); the number of packets sent.
 * What the device doesn't take stays in the link; what it never could take
 * (too short, too long) is freed and counted. */
int pg_transmit(struct port *port, struct link *link)
{
  struct rte_mbuf *burst[PORT_BURST];
  int sent_in_all = 0;
  uint32_t waiting;
  while ((waiting = readable(link)) > 0) {
    uint32_t read = (uint32_t)link->read;
    uint16_t taken = RTE_MIN(waiting, (uint32_t)PORT_BURST), n = 0;
    uint64_t bytes = 0, dropped_bytes = 0, bits = 0;
    for (uint16_t i = 0; i < taken; i++) {
      struct rte_mbuf *m = (struct rte_mbuf *)link->packets[(read + i) & MASK];
      m->pkt_len = m->data_len;
      if (likely(sendable(port, m))) {
        burst[n++] = m;
        bytes += m->data_len;
        bits += wire_bits(m->data_len);
      } else {
        dropped_bytes += m->data_len;
        rte_pktmbuf_free(m);
      }
    }
    uint16_t sent = rte_eth_tx_burst(port->id, 0, burst, n);
    uint16_t left = n - sent;
    read += taken - left;
    for (uint16_t i = 0; i < left; i++) {
      link->packets[(read + i) & MASK] = (struct packet *)burst[sent + i];
      bytes -= burst[sent + i]->data_len;
      bits -= wire_bits(burst[sent + i]->data_len);
    }
    link->read = (int32_t)read;
    link->rxbytes += bytes + dropped_bytes;
    port->txpackets += sent;
    port->txbytes += bytes;
    port->account->sent += sent;
    port->account->sentbytes += bytes;
    port->account->sentbits += bits;
    port->account->port_drops += taken - n;
    sent_in_all += sent;
    if (left)
      break;
  }
  return sent_in_all;
}

/* Bytes of the packets waiting in the link. */
uint64_t pg_link_queued_bytes(const struct link *link)
{
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < readable(link); i++)
    bytes += link->packets[((uint32_t)link->read + i) & MASK]->length;
  return bytes;
}
