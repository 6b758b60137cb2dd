/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of a device's queues a packet is for: the first rule that holds, else the hash
 * of its addresses and ports, as cards do it.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>

#include "../../src/net/wire/wire.h"
#include "internal.h"
#include "rules.h"

enum {
  MOST_TAGS = 2, FRAGMENT = 0x1fff
};

/* What rules look at. */
struct fields {
  uint32_t type, src_ip, dst_ip;
  uint16_t src_port, dst_port;
  uint8_t proto;
  bool is_ip4;
  uint16_t ptp; /* the first two bytes of UDP's payload */
};

static void read_ip4(struct fields *f, const uint8_t *ip, uint32_t bytes)
{
  if (bytes < IP4_HEADER)
    return;
  uint32_t header = (ip[0] & 15) * 4;
  f->is_ip4 = true;
  f->proto = ip[9];
  f->src_ip = get32(ip + 12);
  f->dst_ip = get32(ip + 16);
  bool has_ports = f->proto == IPPROTO_UDP || f->proto == IPPROTO_TCP ||
                   f->proto == IPPROTO_SCTP;
  if (!has_ports || (get16(ip + 6) & FRAGMENT) || bytes < header + 4)
    return;
  f->src_port = get16(ip + header);
  f->dst_port = get16(ip + header + 2);
  if (f->proto == IPPROTO_UDP && bytes >= header + UDP_HEADER + 2)
    f->ptp = get16(ip + header + UDP_HEADER);
}

static void read_fields(struct fields *f, const struct rte_mbuf *m)
{
  const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
  uint32_t at = MAC_ADDRESSES, length = m->data_len;
  memset(f, 0, sizeof *f);
  if (length < ETHERNET_HEADER)
    return;
  f->type = get16(frame + at);
  for (int tags = 0; tags < MOST_TAGS && is_vlan_type(f->type) &&
                     length >= at + VLAN_TAG + 2; tags++) {
    at += VLAN_TAG;
    f->type = get16(frame + at);
  }
  if (f->type == TYPE_IP4)
    read_ip4(f, frame + at + 2, length - at - 2);
}

static bool five_tuple_holds(const struct mg_rule *r, const struct fields *f)
{
  return f->is_ip4 && !((f->src_ip ^ r->src_ip) & r->src_ip_mask) &&
         !((f->dst_ip ^ r->dst_ip) & r->dst_ip_mask) &&
         !((f->src_port ^ r->src_port) & r->src_port_mask) &&
         !((f->dst_port ^ r->dst_port) & r->dst_port_mask) &&
         !((f->proto ^ r->proto) & r->proto_mask);
}

static bool holds(const struct mg_rule *r, const struct fields *f)
{
  switch (r->kind) {
  case MG_RULE_ETHERTYPE:
    return f->type == r->what;
  case MG_RULE_PTP:
    return f->is_ip4 && f->proto == IPPROTO_UDP && f->ptp == r->what;
  default:
    return five_tuple_holds(r, f);
  }
}

int32_t mg_queue_for(const struct mg_device *d, const struct rte_mbuf *m)
{
  if (d->nrules > 0) {
    struct fields f;
    read_fields(&f, m);
    for (int i = 0; i < d->nrules; i++)
      if (holds(&d->rules[i], &f))
        return d->rules[i].queue;
  }
  if (d->rss_queues < 2)
    return d->rss_base;
  uint32_t bucket = pg_flow_hash((const struct packet *)m) % MG_BUCKETS;
  return d->rss_base + bucket % d->rss_queues;
}

/* Add a rule, behind those of the same or higher priority. An equal one is replaced.
 * 0, or -1 if there are too many. */
int mg_device_add_rule(struct mg_device *d, const struct mg_rule *rule)
{
  struct mg_rule same;
  int at = 0, status = 0;
  for (int i = 0; i < d->sources; i++)
    pg_spin_lock(&d->rx_locks[i]);
  for (at = 0; at < d->nrules; at++) {
    same = d->rules[at];
    same.queue = rule->queue;
    if (memcmp(&same, rule, sizeof same) == 0)
      break;
  }
  if (at < d->nrules) {
    d->rules[at] = *rule;
  } else if (d->nrules == MG_MOST_RULES) {
    status = -1;
  } else {
    for (at = d->nrules; at > 0 && d->rules[at - 1].priority < rule->priority; at--)
      d->rules[at] = d->rules[at - 1];
    d->rules[at] = *rule;
    __atomic_store_n(&d->nrules, d->nrules + 1, __ATOMIC_RELEASE);
  }
  mg_device_use_sources(d);
  for (int i = d->sources; i-- > 0;)
    pg_spin_unlock(&d->rx_locks[i]);
  return status;
}
