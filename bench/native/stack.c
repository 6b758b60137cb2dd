/* SPDX-License-Identifier: Apache-2.0
 *
 * What bench/lua/stack.lua and bench/lua/cliffs.lua do through stacks, in C: a
 * library that they load, so that both work on the same packets in turn. Every
 * function takes a ring of packets (its size less 1 is `mask`) and goes around it
 * for `n` packets.
 */
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>
#include <rte_vxlan.h>

#include "../../src/net/checksum/checksum.h"
#include "common.h"

enum { INNER_MASK = 63 };

struct ip4_headers {
  struct rte_ether_hdr eth;
  struct rte_ipv4_hdr ip4;
} __attribute__((packed, aligned(2)));

struct udp_headers {
  struct rte_ether_hdr eth;
  struct rte_ipv4_hdr ip4;
  struct rte_udp_hdr udp;
} __attribute__((packed, aligned(2)));

struct tcp_headers {
  struct rte_ether_hdr eth;
  struct rte_ipv4_hdr ip4;
  struct rte_tcp_hdr tcp;
} __attribute__((packed, aligned(2)));

struct vxlan_headers {
  struct rte_ether_hdr eth;
  struct rte_ipv4_hdr ip4;
  struct rte_udp_hdr udp;
  struct rte_vxlan_hdr vxlan;
} __attribute__((packed, aligned(2)));

static inline void *headers_of(struct packet *p)
{
  return p->buf_addr + p->data_off;
}

void bench_set(struct packet **ring, uint32_t mask, uint32_t n)
{
  for (uint32_t i = 1; i <= n; i++) {
    struct ip4_headers *h = headers_of(ring[i & mask]);
    h->ip4.src_addr = rte_cpu_to_be_32(i);
  }
}

/* The same, byte by byte. */
void bench_set_bytes(struct packet **ring, uint32_t mask, uint32_t n)
{
  for (uint32_t i = 1; i <= n; i++) {
    volatile uint8_t *data = headers_of(ring[i & mask]);
    for (int k = 0; k < 4; k++)
      data[26 + k] = i >> (24 - 8 * k);
  }
}

/* Four fields of each packet of a burst, `n` times. */
uint32_t bench_burst(struct packet **packets, uint32_t count, uint32_t n)
{
  uint32_t total = 0;
  for (uint32_t i = 1; i <= n; i++) {
    for (uint32_t k = 0; k < count; k++) {
      struct udp_headers *h = headers_of(packets[k]);
      h->ip4.src_addr = rte_cpu_to_be_32(i);
      h->ip4.time_to_live--;
      h->udp.dst_port = rte_cpu_to_be_16(i);
      total += rte_be_to_cpu_16(h->udp.dgram_len);
    }
    __asm__ volatile("" ::: "memory"); /* one burst after the other */
  }
  return total;
}

/* Encapsulate packet `q` in `p`; `template`, if not NULL, has the headers. */
static inline void encapsulate(struct packet *p, struct packet *q, uint32_t i,
                               const void *template)
{
  uint32_t length = sizeof(struct vxlan_headers) + q->length;
  struct vxlan_headers *h = headers_of(p);
  p->length = length;
  if (template)
    memcpy(h, template, sizeof *h);
  h->ip4.dst_addr = rte_cpu_to_be_32(i);
  h->udp.src_port = rte_cpu_to_be_16(i);
  h->vxlan.vx_vni = rte_cpu_to_be_32(i << 8);
  h->ip4.total_length = rte_cpu_to_be_16(length - offsetof(struct vxlan_headers, ip4));
  h->udp.dgram_len = rte_cpu_to_be_16(length - offsetof(struct vxlan_headers, udp));
  memcpy(h + 1, headers_of(q), q->length);
}

void bench_encapsulate(struct packet **ring, uint32_t mask, uint32_t n,
                       struct packet **inner)
{
  for (uint32_t i = 1; i <= n; i++)
    encapsulate(ring[i & mask], inner[i & INNER_MASK], i, NULL);
}

void bench_template(struct packet **ring, uint32_t mask, uint32_t n,
                    struct packet **inner, const void *template)
{
  for (uint32_t i = 1; i <= n; i++)
    encapsulate(ring[i & mask], inner[i & INNER_MASK], i, template);
}

/* As lib.stack's `check` for eth, ip4, udp: how many packets have just those. */
uint32_t bench_check(struct packet **ring, uint32_t mask, uint32_t n)
{
  uint32_t good = 0;
  for (uint32_t i = 1; i <= n; i++) {
    struct packet *p = ring[i & mask];
    const struct udp_headers *h = headers_of(p);
    uint32_t end = p->length;
    if (end < sizeof *h || h->ip4.version_ihl != 0x45 ||
        h->eth.ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4))
      continue;
    uint32_t told = 14 + rte_be_to_cpu_16(h->ip4.total_length);
    if (told >= 34 && told < end)
      end = told;
    good += end >= sizeof *h && h->ip4.next_proto_id == IPPROTO_UDP;
  }
  return good;
}

void bench_ip4_sum(struct packet **ring, uint32_t mask, uint32_t n)
{
  for (uint32_t i = 1; i <= n; i++) {
    struct ip4_headers *h = headers_of(ring[i & mask]);
    h->ip4.hdr_checksum = 0;
    h->ip4.hdr_checksum = rte_cpu_to_be_16(pg_checksum(&h->ip4, 20, 0));
  }
}

/* The bytes of the segment: what IP's length says, or less. */
static inline uint32_t segment(const struct packet *p, const struct rte_ipv4_hdr *ip4,
                               uint32_t least)
{
  uint32_t n = p->length - sizeof(struct ip4_headers);
  uint32_t told = rte_be_to_cpu_16(ip4->total_length) - 20;
  return told >= least && told < n ? told : n;
}

void bench_udp_sum(struct packet **ring, uint32_t mask, uint32_t n)
{
  for (uint32_t i = 1; i <= n; i++) {
    struct packet *p = ring[i & mask];
    struct udp_headers *h = headers_of(p);
    uint32_t bytes = p->length - sizeof(struct ip4_headers);
    uint32_t told = rte_be_to_cpu_16(h->udp.dgram_len);
    if (told >= sizeof h->udp && told < bytes)
      bytes = told;
    h->udp.dgram_cksum = 0;
    uint32_t pseudo = pg_pseudo_sum(&h->ip4.src_addr, 8, IPPROTO_UDP, bytes);
    uint32_t sum = pg_checksum(&h->udp, bytes, pseudo);
    h->udp.dgram_cksum = rte_cpu_to_be_16(sum ? sum : 0xffff);
  }
}

void bench_tcp_sum(struct packet **ring, uint32_t mask, uint32_t n)
{
  for (uint32_t i = 1; i <= n; i++) {
    struct packet *p = ring[i & mask];
    struct tcp_headers *h = headers_of(p);
    uint32_t bytes = segment(p, &h->ip4, sizeof h->tcp);
    h->tcp.cksum = 0;
    uint32_t pseudo = pg_pseudo_sum(&h->ip4.src_addr, 8, IPPROTO_TCP, bytes);
    h->tcp.cksum = rte_cpu_to_be_16(pg_checksum(&h->tcp, bytes, pseudo));
  }
}
