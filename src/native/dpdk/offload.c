/* SPDX-License-Identifier: Apache-2.0
 *
 * Checksums and VLAN tags left to the device that sends a packet: asked for in
 * the mbuf's flags, as DPDK has it, and done here in software where the port's
 * device can't. What is asked for ends with the transmission.
 */
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "../../net/checksum/checksum.h"
#include "../../net/checksum/fill_both.h"
#include "../../net/wire/wire.h"
#include "../api.h"
#include "../driver.h"
#include "internal.h"

/* Devices may need these too, to know what they look at. */
#define FAMILY (PG_REQUESTS & ~PG_OFFLOADS)

_Static_assert(PG_REQUESTS == 0x03f0000000000000,
               "core/packet.lua has this mask of what a clone is sent with");

_Atomic bool pg_offloads_asked;

/* What the device must have for these flags of a packet. */
static uint64_t needed(uint64_t flags)
{
  uint64_t l4 = flags & RTE_MBUF_F_TX_L4_MASK;
  return (flags & RTE_MBUF_F_TX_IP_CKSUM ? RTE_ETH_TX_OFFLOAD_IPV4_CKSUM : 0) |
         (flags & RTE_MBUF_F_TX_VLAN ? RTE_ETH_TX_OFFLOAD_VLAN_INSERT : 0) |
         (l4 == RTE_MBUF_F_TX_TCP_CKSUM ? RTE_ETH_TX_OFFLOAD_TCP_CKSUM : 0) |
         (l4 == RTE_MBUF_F_TX_UDP_CKSUM ? RTE_ETH_TX_OFFLOAD_UDP_CKSUM : 0);
}

/* Open room for a tag behind the addresses, before or behind the packet; PG_TAGGED tells
 * that they were moved. */
static void insert_tag(struct rte_mbuf *m)
{
  uint16_t tag[2] = {rte_cpu_to_be_16(TYPE_8021Q), rte_cpu_to_be_16(m->vlan_tci)};
  uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
  if (m->data_len < MAC_ADDRESSES)
    return;
  if (rte_pktmbuf_headroom(m) >= VLAN_TAG) {
    m->data_off -= VLAN_TAG;
    memmove(frame - VLAN_TAG, frame, MAC_ADDRESSES);
    frame -= VLAN_TAG;
    m->packet_type = PG_TAGGED;
  } else if (rte_pktmbuf_tailroom(m) >= VLAN_TAG) {
    uint8_t *type = frame + MAC_ADDRESSES;
    memmove(type + VLAN_TAG, type, m->data_len - MAC_ADDRESSES);
  } else {
    return;
  }
  memcpy(frame + MAC_ADDRESSES, tag, sizeof tag);
  m->data_len += VLAN_TAG;
  m->pkt_len = m->data_len;
}

void pg_offload_untag(struct rte_mbuf *m)
{
  uint8_t *frame = (uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM;
  if (m->data_off == RTE_PKTMBUF_HEADROOM - VLAN_TAG)
    memmove(frame, frame - VLAN_TAG, MAC_ADDRESSES);
}

static uint32_t l4_protocol(uint64_t flags)
{
  switch (flags & RTE_MBUF_F_TX_L4_MASK) {
  case RTE_MBUF_F_TX_TCP_CKSUM: return IPPROTO_TCP;
  case RTE_MBUF_F_TX_UDP_CKSUM: return IPPROTO_UDP;
  }
  return 0;
}

static void fill_each(struct packet *p, uint32_t l2, uint32_t l3, uint32_t protocol,
                      bool ip4)
{
  if (protocol)
    pg_fill_l4(p, l2, l2 + l3, protocol);
  if (ip4)
    pg_fill_ip4(p, l2);
}

static inline void offload_one(struct rte_mbuf *m)
{
  struct packet *p = (struct packet *)m;
  uint32_t l2 = m->l2_len, l3 = m->l3_len, protocol = l4_protocol(m->ol_flags);
  bool ip4 = m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM, usual = ip4 && l3 == IP4_HEADER;
  if (!(usual && protocol == IPPROTO_UDP && fill_both(p, l2, IPPROTO_UDP)) &&
      !(usual && protocol == IPPROTO_TCP && fill_both(p, l2, IPPROTO_TCP)))
    fill_each(p, l2, l3, protocol, ip4);
  if (m->ol_flags & RTE_MBUF_F_TX_VLAN)
    insert_tag(m);
  m->ol_flags &= ~PG_REQUESTS;
}

/* Do what packets ask their device for. */
void pg_offload_here(struct rte_mbuf **packets, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    if (packets[i]->ol_flags & PG_OFFLOADS)
      offload_one(packets[i]);
}

/* What the device must have for all packets that have some of these flags each. */
static uint64_t needed_by_all(uint64_t flags)
{
  const uint64_t l4 = RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
  return needed(flags & ~RTE_MBUF_F_TX_L4_MASK) | (flags & RTE_MBUF_F_TX_L4_MASK ? l4 : 0);
}

/* See to what the packets of a burst ask for: the device can and will do it
 * (rte_eth_tx_prepare), or it is done now. */
void pg_offload_burst(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  uint16_t id = port->id, queue = port->own ? 0 : port->queue;
  uint64_t offloads = port->own && port->own->offloads
                        ? port->own->offloads(port, &id)
                        : port->offloads;
  uint64_t all = 0;
  if (!(offloads & needed_by_all(PG_OFFLOADS))) {
    pg_offload_here(packets, n);
    return;
  }
  for (uint16_t i = 0; i < n; i++) {
    all |= packets[i]->ol_flags & PG_OFFLOADS;
    packets[i]->pkt_len = packets[i]->data_len;
  }
  if (!(needed_by_all(all) & ~offloads) && rte_eth_tx_prepare(id, queue, packets, n) == n)
    return;
  for (uint16_t i = 0; i < n; i++) {
    uint64_t flags = packets[i]->ol_flags & PG_OFFLOADS;
    if (flags && ((needed(flags) & ~offloads) ||
                  rte_eth_tx_prepare(id, queue, &packets[i], 1) != 1))
      offload_one(packets[i]);
  }
}

static uint64_t family(uint32_t version)
{
  return version == 4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6;
}

static uint64_t l4_flag(uint32_t protocol)
{
  return protocol == IPPROTO_TCP ? RTE_MBUF_F_TX_TCP_CKSUM
                                 : RTE_MBUF_F_TX_UDP_CKSUM;
}

/* Bytes of the IP header at `l2`; 0 if it isn't of this version, or longer than
 * the packet, or not of the `l3` bytes (0: any) it is said to have. */
static uint32_t ip_header(const struct packet *p, uint32_t version, uint32_t l2,
                          uint32_t l3)
{
  uint32_t length = version == 4 ? IP4_HEADER : RTE_MAX(l3, (uint32_t)IP6_HEADER), shortest = length;
  const uint8_t *ip = p->buf_addr + p->data_off + l2;
  if (p->length < l2 + shortest || ip[0] >> 4 != (int)version)
    return 0;
  if (version == 4)
    length = (ip[0] & 15) * 4;
  bool fits = length >= shortest && p->length >= l2 + length;
  return fits && (l3 == 0 || l3 == length) ? length : 0;
}

/* Ask for the checksums of IPv4 and of `protocol` (TCP, UDP; 0: none) in a packet
 * with `l2` (up to 127) bytes before IP's header of `version` (4, 6), and `l3` (up to
 * 511) bytes of that with its extensions (0: what it says). Whether they are there. */
int pg_offload_checksum(struct packet *p, uint32_t version, uint32_t l2, uint32_t l3,
                        uint32_t protocol)
{
  struct rte_mbuf *m = (struct rte_mbuf *)p;
  uint32_t length = ip_header(p, version, l2, l3);
  if (length == 0 || (protocol && !pg_fill_pseudo(p, l2, l2 + length, protocol)))
    return false;
  uint64_t flags = (m->ol_flags & ~FAMILY) | family(version);
  if (protocol)
    flags = (flags & ~RTE_MBUF_F_TX_L4_MASK) | l4_flag(protocol);
  if (version == 4) {
    flags |= RTE_MBUF_F_TX_IP_CKSUM;
    memset(p->buf_addr + p->data_off + l2 + IP4_CHECKSUM, 0, 2);
  }
  atomic_store_explicit(&pg_offloads_asked, true, memory_order_relaxed);
  m->ol_flags = flags;
  m->tx_offload = 0;
  m->l2_len = l2;
  m->l3_len = length;
  return true;
}

/* Ask for what DPDK's `flags` say, of headers of `l2` and `l3` bytes, for an array in which
 * some may be NULL. */
void pg_offload_flags(struct packet **packets, int32_t n, uint64_t flags, uint32_t l2,
                      uint32_t l3)
{
  for (int32_t i = 0; i < n; i++) {
    if (!packets[i])
      continue;
    packets[i]->ol_flags |= flags;
    packets[i]->tx_offload = l2 | l3 << 7; /* rte_mbuf's l2_len and l3_len */
  }
}

/* Ask for a VLAN tag with these 16 bits of control information. */
void pg_offload_vlan(struct packet *p, uint32_t tci)
{
  atomic_store_explicit(&pg_offloads_asked, true, memory_order_relaxed);
  p->vlan_tci = tci;
  p->ol_flags |= RTE_MBUF_F_TX_VLAN;
}
