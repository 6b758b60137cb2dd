/* SPDX-License-Identifier: Apache-2.0
 *
 * The headers of a packet that a rewriter gets, and the key by which its flow is known.
 */
#pragma once

#include <netinet/in.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ip.h>

#include "../../src/native/api.h"
#include "../../src/net/wire/wire.h"
#include "flow_table.h"
#include "ip.h"

enum {
  PING_REQUEST = 8, PING_REPLY = 0,
  PORTS = 8,      /* bytes behind the IP header that a packet with ports has */
  PING = 6        /* and one with an identifier */
};

/* A packet's headers; `length` is that of the transport header and what follows. */
struct view {
  struct rte_ipv4_hdr *ip;
  uint8_t *l4;
  int32_t length;
  bool first;
};

static inline bool look(const struct packet *p, struct view *v)
{
  int32_t end = p->data_off + p->length;
  int32_t net = p->note16[NOTE16_NETWORK], l4 = p->note16[NOTE16_TRANSPORT];
  if (!net || net + (int32_t)sizeof *v->ip > end)
    return false;
  v->ip = (struct rte_ipv4_hdr *)(p->buf_addr + net);
  if (l4 < net + (int32_t)sizeof *v->ip)
    l4 = net + (v->ip->version_ihl & 15) * 4;
  v->l4 = p->buf_addr + l4;
  v->length = end - l4;
  v->first = !(v->ip->fragment_offset & rte_cpu_to_be_16(IP4_OFFSET));
  return true;
}

static inline bool has_ports(const struct view *v)
{
  uint8_t protocol = v->ip->next_proto_id;
  return (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP ||
          protocol == IPPROTO_DCCP) && v->first && v->length >= PORTS;
}

static inline bool is_ping(const struct view *v)
{
  return v->ip->next_proto_id == IPPROTO_ICMP && v->first && v->length >= PING &&
         (v->l4[0] == PING_REQUEST || v->l4[0] == PING_REPLY);
}

/* The key of pings has the identifier as the requester's port, and the next number as
 * the other's, so that requests and replies differ. */
static inline uint32_t ports_of_ping(uint16_t id, bool reply)
{
  uint16_t source = (uint16_t)(id + reply), destination = (uint16_t)(id + !reply);
  return source | (uint32_t)destination << 16;
}

/* The key of packets from an address, to another; 0: any. */
static inline struct flow_words words_of(uint32_t source, uint32_t destination)
{
  return (struct flow_words){source | (uint64_t)destination << 32, 0};
}

/* The kind of flows that the packet belongs to, and its key there; -1: none. */
static __rte_always_inline int32_t key_of(const struct click_rewriter *r,
                                          const struct view *v, struct flow_words *key)
{
  memcpy(&key->addresses, &v->ip->src_addr, sizeof key->addresses);
  key->ports = 0;
  switch (r->how) {
  case REWRITE_SOURCE:
    *key = words_of(v->ip->src_addr, 0);
    return r->other;
  case REWRITE_ADDRESSES:
    return r->other;
  case REWRITE_PING:
    if (!is_ping(v))
      return -1;
    key->ports = ports_of_ping(load16(v->l4 + 4), v->l4[0] == PING_REPLY);
    return r->other;
  default:
    if (!has_ports(v))
      return -1;
    memcpy(&key->ports, v->l4, sizeof key->ports);
    if (r->tcp < 0)
      return r->other;
    if (v->ip->next_proto_id == IPPROTO_TCP)
      return r->tcp;
    return v->ip->next_proto_id == IPPROTO_UDP ? r->other : -1;
  }
}
