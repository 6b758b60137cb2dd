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
static int64_t bursts; /* a clock */

enum { KEPT_FOR = 60000 };

/* What is kept of a flow, and until when. */
static struct value { int64_t expiry; uint16_t number; } *values;
static uint16_t next = 1024;

/* The flow of each packet of the burst in `values`, or less than 0: it is new, or the
 * packet unsound. */
static int32_t places[MAX_BURST];
static uint16_t next_place;

static struct flow flow_of(const struct rte_ipv4_hdr *h)
{
  const struct rte_udp_hdr *udp = (const void *)((const char *)h + header_length(h));
  return (struct flow){h->src_addr, h->dst_addr, udp->src_port, udp->dst_port,
                       h->next_proto_id};
}

/* Look the flows of a burst up, and ask the memory for what is known of them. */
static void find_flows(struct rte_mbuf **packets, uint16_t n)
{
  struct flow flow[RTE_HASH_LOOKUP_BULK_MAX];
  const void *keys[RTE_HASH_LOOKUP_BULK_MAX];
  next_place = 0;
  bursts++;
  for (uint16_t from = 0; from < n; from += RTE_HASH_LOOKUP_BULK_MAX) {
    uint16_t some = RTE_MIN(n - from, RTE_HASH_LOOKUP_BULK_MAX);
    for (uint16_t i = 0; i < some; i++) {
      struct rte_mbuf *m = packets[from + i];
      flow[i] = sound(m, false) ? flow_of(ip_of(m)) : (struct flow){0};
      keys[i] = &flow[i];
    }
    rte_hash_lookup_bulk(flows, keys, some, places + from);
    for (uint16_t i = 0; i < some; i++)
      if (places[from + i] >= 0)
        rte_prefetch0(&values[places[from + i]]);
  }
}

/* What is kept of the flow of the burst's next packet: number 0 if it is new; NULL: the
 * packet is unsound. */
static inline struct value *next_value(struct rte_mbuf *m)
{
  int32_t at = places[next_place++];
  if (unlikely(at < 0)) {
    if (!sound(m, false))
      return NULL;
    struct flow flow = flow_of(ip_of(m));
    at = rte_hash_add_key(flows, &flow);
    check(at >= 0, "adding a flow");
  }
  values[at].expiry = bursts + KEPT_FOR;
  return &values[at];
}

/* What is added to a checksum's complement when 32 bits change (RFC 1624). */
static uint32_t difference(uint32_t old, uint32_t new)
{
  return (~old & 0xffff) + (~old >> 16) + (new & 0xffff) + (new >> 16);
}

static uint16_t changed(uint16_t sum, uint32_t difference)
{
  uint32_t s = (uint16_t)~sum + difference;
  s = (s & 0xffff) + (s >> 16);
  return ~(s + (s >> 16));
}

/* The checksums when an address changes, and `more` of what UDP's covers. */
static void update_checksums(struct rte_ipv4_hdr *h, struct rte_udp_hdr *udp,
                             uint32_t old, uint32_t new, uint32_t more)
{
  uint32_t d = difference(old, new);
  h->hdr_checksum = changed(h->hdr_checksum, d);
  if (udp->dgram_cksum)
    udp->dgram_cksum = changed(udp->dgram_cksum, d + more);
}

static void do_nat(struct rte_mbuf *m)
{
  struct value *value = next_value(m);
  if (!value) {
    rte_pktmbuf_free(m);
    return;
  }
  if (value->number == 0)
    value->number = rte_cpu_to_be_16(next++);
  struct rte_ipv4_hdr *h = ip_of(m);
  struct rte_udp_hdr *udp = (void *)((char *)h + header_length(h));
  uint32_t source = rte_cpu_to_be_32(NET(192, 0, 2, 1));
  update_checksums(h, udp, h->src_addr, source,
                   (uint16_t)~udp->src_port + value->number);
  h->src_addr = source;
  udp->src_port = value->number;
  put(&outs[0], m);
}

static void replace_destination(struct rte_ipv4_hdr *h, struct rte_udp_hdr *udp,
                                uint32_t address)
{
  update_checksums(h, udp, h->dst_addr, address, 0);
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
  update_checksums(h, udp, h->src_addr, source, 0);
  h->src_addr = source;
  *flow = flow_of(h);
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
  struct value *value = next_value(m);
  if (!value) {
    rte_pktmbuf_free(m);
    return;
  }
  if (value->number == 0)
    value->number = 1 + next++ % HOPS;
  struct rte_ipv4_hdr *h = ip_of(m);
  replace_destination(h, (void *)((char *)h + header_length(h)),
                      rte_cpu_to_be_32(NET(192, 168, 0, value->number)));
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
