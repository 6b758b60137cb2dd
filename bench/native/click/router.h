/* SPDX-License-Identifier: Apache-2.0
 *
 * The IP router: a way out by four prefixes, ICMP errors, fragments.
 */
#pragma once

#include <rte_icmp.h>

#include "interfaces.h"

enum { MTU = 1500, ICMP = sizeof(struct rte_icmp_hdr), QUOTED = 576 - IPV4 - ICMP };

static struct out *look_up(uint32_t address)
{
  for (int i = 0; i < HOPS; i++)
    if ((address & ~255U) == (outs[i].address & ~255U))
      return &outs[i];
  return NULL;
}

static void route(struct rte_mbuf *m);

/* An ICMP error about the packet (RFC 792), routed in turn; frees it. */
static void report(struct out *from, struct rte_mbuf *m, uint8_t type, uint8_t code)
{
  const struct rte_ipv4_hdr *old = ip_of(m);
  uint16_t quoted = RTE_MIN(m->data_len - ETHERNET, (int)QUOTED);
  struct rte_mbuf *answer = rte_pktmbuf_alloc(pool);
  check(answer, "allocating a packet");
  struct rte_ipv4_hdr *h =
    (void *)(rte_pktmbuf_append(answer, ETHERNET + IPV4 + ICMP + quoted) + ETHERNET);
  *h = (struct rte_ipv4_hdr){
    .version_ihl = 0x45, .total_length = rte_cpu_to_be_16(IPV4 + ICMP + quoted),
    .time_to_live = 255, .next_proto_id = 1,
    .src_addr = rte_cpu_to_be_32(from->address), .dst_addr = old->src_addr};
  set_checksum(h);
  struct rte_icmp_hdr *icmp = (void *)(h + 1);
  *icmp = (struct rte_icmp_hdr){.icmp_type = type, .icmp_code = code};
  memcpy(icmp + 1, old, quoted);
  icmp->icmp_cksum = ~rte_raw_cksum(icmp, ICMP + quoted);
  rte_pktmbuf_free(m);
  route(answer);
}

static void encapsulate(struct out *o, struct rte_mbuf *m)
{
  memcpy(rte_pktmbuf_mtod(m, void *), o->header, ETHERNET);
  put(o, m);
}

/* A packet longer than the MTU (RFC 791, section 3.2); its options aren't copied. */
static void fragment(struct out *o, struct rte_mbuf *m)
{
  const struct rte_ipv4_hdr *old = ip_of(m);
  uint16_t header = header_length(old), left = m->data_len - ETHERNET - header;
  uint16_t most = (MTU - header) / 8 * 8;
  for (uint16_t at = 0; left > 0; at += most) {
    uint16_t size = RTE_MIN(left, most);
    struct rte_mbuf *part = rte_pktmbuf_alloc(pool);
    check(part, "allocating a packet");
    uint8_t *data = (void *)rte_pktmbuf_append(part, ETHERNET + header + size);
    memcpy(data + ETHERNET, old, header);
    memcpy(data + ETHERNET + header, (const uint8_t *)old + header + at, size);
    struct rte_ipv4_hdr *h = (void *)(data + ETHERNET);
    left -= size;
    h->total_length = rte_cpu_to_be_16(header + size);
    h->fragment_offset = rte_cpu_to_be_16(at / 8 | (left > 0 ? 0x2000 : 0));
    set_checksum(h);
    encapsulate(o, part);
  }
  rte_pktmbuf_free(m);
}

static void route(struct rte_mbuf *m)
{
  struct rte_ipv4_hdr *h = ip_of(m);
  struct out *o = look_up(rte_be_to_cpu_32(h->dst_addr));
  if (!o) {
    rte_pktmbuf_free(m);
  } else if (h->time_to_live <= 1) {
    report(o, m, 11, 0);
  } else {
    h->time_to_live--;
    /* RFC 1624, equation 3, in the byte order of the header */
    uint32_t sum = (uint16_t)~h->hdr_checksum + 0xffff - rte_cpu_to_be_16(0x0100);
    h->hdr_checksum = ~((sum & 0xffff) + (sum >> 16));
    if (m->data_len - ETHERNET > MTU)
      fragment(o, m);
    else
      encapsulate(o, m);
  }
}

static void do_router(struct rte_mbuf *m)
{
  const struct rte_ether_hdr *e = rte_pktmbuf_mtod(m, const void *);
  if (e->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) && sound(m, true))
    route(m);
  else
    rte_pktmbuf_free(m);
}
