/* SPDX-License-Identifier: Apache-2.0
 *
 * What keeps flows: a NAT, and a load balancer.
 */
#pragma once

#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_udp.h>

#include "interfaces.h"

enum { FLOWS = 1 << 16, MANY_FLOWS = 1 << 20 };

struct flow { uint32_t from, to; uint16_t from_port, to_port; uint32_t protocol; };

static struct rte_hash *flows;
static uint16_t *values, next = 1024;

/* What is kept of the packet's flow: 0 if it is new. */
static inline uint16_t *value_of(const struct rte_ipv4_hdr *h,
                                 const struct rte_udp_hdr *udp)
{
  struct flow flow = {h->src_addr, h->dst_addr, udp->src_port, udp->dst_port,
                      h->next_proto_id};
  int at = rte_hash_lookup(flows, &flow);
  if (at < 0)
    at = rte_hash_add_key(flows, &flow);
  check(at >= 0, "adding a flow");
  return &values[at];
}

/* The checksum when 16 bits change (RFC 1624). */
static uint16_t changed(uint16_t sum, uint16_t old, uint16_t new)
{
  uint32_t s = (uint16_t)~sum + (uint16_t)~old + new;
  s = (s & 0xffff) + (s >> 16);
  return ~(s + (s >> 16));
}

/* The checksums when an address changes. */
static void update_checksums(struct rte_ipv4_hdr *h, struct rte_udp_hdr *udp,
                             uint32_t old, uint32_t new)
{
  uint16_t sum = changed(h->hdr_checksum, old & 0xffff, new & 0xffff);
  h->hdr_checksum = changed(sum, old >> 16, new >> 16);
  if (udp->dgram_cksum) {
    sum = changed(udp->dgram_cksum, old & 0xffff, new & 0xffff);
    udp->dgram_cksum = changed(sum, old >> 16, new >> 16);
  }
}

static void do_nat(struct rte_mbuf *m)
{
  if (!sound(m, false)) {
    rte_pktmbuf_free(m);
    return;
  }
  struct rte_ipv4_hdr *h = ip_of(m);
  struct rte_udp_hdr *udp = (void *)((char *)h + header_length(h));
  uint16_t *port = value_of(h, udp);
  if (*port == 0)
    *port = rte_cpu_to_be_16(next++);
  uint32_t source = rte_cpu_to_be_32(NET(192, 0, 2, 1));
  update_checksums(h, udp, h->src_addr, source);
  if (udp->dgram_cksum)
    udp->dgram_cksum = changed(udp->dgram_cksum, udp->src_port, *port);
  h->src_addr = source;
  udp->src_port = *port;
  put(&outs[0], m);
}

static void replace_destination(struct rte_ipv4_hdr *h, struct rte_udp_hdr *udp,
                                uint32_t address)
{
  update_checksums(h, udp, h->dst_addr, address);
  h->dst_addr = address;
}

static uint32_t address_of_many(uint32_t i)
{
  return rte_cpu_to_be_32(NET(10, 0, 0, 0) + i % MANY_FLOWS);
}

/* What is known of one of many flows: where it goes, and until when it is kept. */
struct known { int64_t expiry; uint32_t destination; };

static struct known *known;
static void *found[MAX_BURST]; /* of the burst's packets */
static uint16_t next_found;
static int64_t bursts; /* a clock */

enum { KEPT_FOR = 60000 };

/* Each packet is one of many flows, at random (Marsaglia's xorshift), to one server. Its
 * key; it is unsound: NULL. */
static struct flow *make_one_of_many(struct rte_mbuf *m, struct flow *flow)
{
  static uint32_t random = 1;
  if (!sound(m, false))
    return NULL;
  struct rte_ipv4_hdr *h = ip_of(m);
  struct rte_udp_hdr *udp = (void *)((char *)h + header_length(h));
  random ^= random << 13;
  random ^= random >> 17;
  random ^= random << 5;
  uint32_t source = address_of_many(random);
  update_checksums(h, udp, h->src_addr, source);
  h->src_addr = source;
  *flow = (struct flow){h->src_addr, h->dst_addr, udp->src_port, udp->dst_port,
                        h->next_proto_id};
  return flow;
}

/* Look the flows of a burst up, and ask the memory for what is known of them. */
static void find_many_flows(struct rte_mbuf **packets, uint16_t n)
{
  struct flow flow[RTE_HASH_LOOKUP_BULK_MAX], none = {0};
  const void *keys[RTE_HASH_LOOKUP_BULK_MAX];
  next_found = 0;
  bursts++;
  for (uint16_t from = 0; from < n; from += RTE_HASH_LOOKUP_BULK_MAX) {
    uint16_t some = RTE_MIN(n - from, RTE_HASH_LOOKUP_BULK_MAX);
    uint64_t hits;
    for (uint16_t i = 0; i < some; i++) {
      keys[i] = make_one_of_many(packets[from + i], &flow[i]);
      keys[i] = keys[i] ? keys[i] : &none;
    }
    rte_hash_lookup_bulk_data(flows, keys, some, &hits, found + from);
    for (uint16_t i = 0; i < some; i++) {
      found[from + i] = hits >> i & 1 ? found[from + i] : NULL;
      rte_prefetch0(found[from + i]);
    }
  }
}

static void do_many_flows(struct rte_mbuf *m)
{
  struct known *k = found[next_found++];
  if (!k) {
    rte_pktmbuf_free(m);
    return;
  }
  struct rte_ipv4_hdr *h = ip_of(m);
  k->expiry = bursts + KEPT_FOR;
  replace_destination(h, (void *)((char *)h + header_length(h)), k->destination);
  put(&outs[0], m);
}

/* A flow keeps the server that it was given when it began. */
static void do_balancer(struct rte_mbuf *m)
{
  if (!sound(m, false)) {
    rte_pktmbuf_free(m);
    return;
  }
  struct rte_ipv4_hdr *h = ip_of(m);
  struct rte_udp_hdr *udp = (void *)((char *)h + header_length(h));
  uint16_t *number = value_of(h, udp);
  if (*number == 0)
    *number = 1 + next++ % HOPS;
  replace_destination(h, udp, rte_cpu_to_be_32(NET(192, 168, 0, *number)));
  put(&outs[0], m);
}

/* What the packets of MANY_FLOWS have in common is that of the file. */
static void add_many_flows(void)
{
  known = calloc(MANY_FLOWS, sizeof *known);
  check(known, "what is known of flows");
  for (uint32_t i = 0; i < MANY_FLOWS; i++) {
    struct flow flow = {address_of_many(i), rte_cpu_to_be_32(NET(10, 0, 0, 2)),
                        rte_cpu_to_be_16(1024), rte_cpu_to_be_16(53), IPPROTO_UDP};
    known[i] = (struct known){0, rte_cpu_to_be_32(NET(192, 0, 2, 9))};
    check(rte_hash_add_key_data(flows, &flow, &known[i]) == 0, "adding a flow");
  }
}

static void make_flows(uint32_t most)
{
  struct rte_hash_parameters table = {
    .name = "flows", .entries = most, .key_len = sizeof(struct flow),
    .hash_func = rte_hash_crc, .socket_id = SOCKET_ID_ANY};
  flows = rte_hash_create(&table);
  check(flows, "the table of flows");
  values = calloc(rte_hash_max_key_id(flows) + 1, sizeof *values);
  check(values, "the flows' values");
}
