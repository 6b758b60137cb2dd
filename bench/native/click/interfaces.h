/* SPDX-License-Identifier: Apache-2.0
 *
 * Interfaces that packets leave by, and what all modes ask of a packet.
 */
#pragma once

#include "../common.h"

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>

enum { MAX_BURST = 512, HOPS = 4, ETHERNET = sizeof(struct rte_ether_hdr),
       IPV4 = sizeof(struct rte_ipv4_hdr) };

#define NET(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static struct rte_mempool *pool; /* of all packets */

/* An interface: what waits to be sent by it. */
static struct out {
  struct rte_mbuf *packets[2 * MAX_BURST];
  uint16_t n, port;
  uint32_t address;
  uint8_t header[ETHERNET];
} outs[HOPS];

static void flush(struct out *o)
{
  if (o->n > 0)
    check(rte_eth_tx_burst(o->port, 0, o->packets, o->n) == o->n, "sending");
  o->n = 0;
}

static void put(struct out *o, struct rte_mbuf *m)
{
  o->packets[o->n++] = m;
  if (o->n == 2 * MAX_BURST)
    flush(o);
}

static struct rte_ipv4_hdr *ip_of(struct rte_mbuf *m)
{
  return rte_pktmbuf_mtod_offset(m, void *, ETHERNET);
}

static uint16_t header_length(const struct rte_ipv4_hdr *h)
{
  return (h->version_ihl & 15) * 4;
}

static void set_checksum(struct rte_ipv4_hdr *h)
{
  h->hdr_checksum = 0;
  h->hdr_checksum = ~rte_raw_cksum(h, header_length(h));
}

/* Click's CheckIPHeader behind Strip(14): also the source may be no interface's
 * broadcast address. */
static bool sound(struct rte_mbuf *m, bool interfaces)
{
  if (m->data_len < ETHERNET + IPV4)
    return false;
  const struct rte_ipv4_hdr *h = ip_of(m);
  uint16_t header = header_length(h), total = rte_be_to_cpu_16(h->total_length);
  if (h->version_ihl >> 4 != 4 || header < IPV4 || total < header ||
      total > m->data_len - ETHERNET || !ip_sum_is_right(h, header))
    return false;
  uint32_t source = rte_be_to_cpu_32(h->src_addr);
  if (interfaces) {
    if (source == 0 || source == UINT32_MAX)
      return false;
    for (int i = 0; i < HOPS; i++)
      if (source == (outs[i].address | 255))
        return false;
  }
  m->data_len = m->pkt_len = ETHERNET + total;
  return true;
}
