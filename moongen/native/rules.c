/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of a device's queues a packet is for: the first rule that holds, else the hash
 * of its addresses and ports, as cards do it.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include "internal.h"
#include "rules.h"

enum {
  TYPE_AT = 12, ETHERNET = 14, TAG = 4, MOST_TAGS = 2,
  IP4 = 0x0800, VLAN = 0x8100, QINQ = 0x88a8,
  IP4_HEADER = 20, FRAGMENT = 0x1fff, UDP_HEADER = 8
};

/* What rules look at. */
struct fields {
  uint32_t type, src_ip, dst_ip;
  uint16_t src_port, dst_port;
  uint8_t proto;
  bool is_ip4;
  uint16_t ptp; /* the first two bytes of UDP's payload */
};

static inline uint32_t read16(const uint8_t *at)
{
  return at[0] << 8 | at[1];
}

static inline uint32_t read32(const uint8_t *at)
{
  return read16(at) << 16 | read16(at + 2);
}

static void read_ip4(struct fields *f, const uint8_t *ip, uint32_t bytes)
{
  if (bytes < IP4_HEADER)
    return;
  uint32_t header = (ip[0] & 15) * 4;
  f->is_ip4 = true;
  f->proto = ip[9];
  f->src_ip = read32(ip + 12);
  f->dst_ip = read32(ip + 16);
  bool has_ports = f->proto == IPPROTO_UDP || f->proto == IPPROTO_TCP ||
                   f->proto == IPPROTO_SCTP;
  if (!has_ports || (read16(ip + 6) & FRAGMENT) || bytes < header + 4)
    return;
  f->src_port = read16(ip + header);
  f->dst_port = read16(ip + header + 2);
  if (f->proto == IPPROTO_UDP && bytes >= header + UDP_HEADER + 2)
    f->ptp = read16(ip + header + UDP_HEADER);
}

static void read_fields(struct fields *f, const struct rte_mbuf *m)
{
  const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
  uint32_t at = TYPE_AT, length = m->data_len;
  memset(f, 0, sizeof *f);
  if (length < ETHERNET)
    return;
  f->type = read16(frame + at);
  for (int tags = 0; tags < MOST_TAGS && (f->type == VLAN || f->type == QINQ) &&
                     length >= at + TAG + 2; tags++) {
    at += TAG;
    f->type = read16(frame + at);
  }
  if (f->type == IP4)
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
    mg_spin_lock(&d->rx_locks[i]);
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
    mg_spin_unlock(&d->rx_locks[i]);
  return status;
}
