/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules in order of their priority (rules.h). IPv4's ports are those of packets that
 * aren't fragments, or are the first.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../native/api.h"
#include "../wire/ports.h"
#include "../wire/vlan_tags.h"
#include "../wire/wire.h"
#include "rules.h"

enum { MOST_TAGS = 2 };

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
  f->proto = ip[IP4_PROTOCOL];
  f->src_ip = get32(ip + IP4_ADDRESSES);
  f->dst_ip = get32(ip + IP4_ADDRESSES + 4);
  if (!has_hashed_ports(f->proto) || (get16(ip + IP4_FRAGMENT) & IP4_OFFSET) ||
      bytes < header + PORTS_BYTES)
    return;
  f->src_port = get16(ip + header);
  f->dst_port = get16(ip + header + 2);
  if (f->proto == IPPROTO_UDP && bytes >= header + UDP_HEADER + 2)
    f->ptp = get16(ip + header + UDP_HEADER);
}

static void read_fields(struct fields *f, const struct packet *p)
{
  const uint8_t *frame = p->buf_addr + p->data_off;
  uint32_t at = 0;
  memset(f, 0, sizeof *f);
  f->type = ethernet_type(frame, p->length, MOST_TAGS, &at);
  if (f->type == TYPE_IP4)
    read_ip4(f, frame + at, p->length - at);
}

static bool five_tuple_holds(const struct pg_rule *r, const struct fields *f)
{
  return f->is_ip4 && !((f->src_ip ^ r->src_ip) & r->src_ip_mask) &&
         !((f->dst_ip ^ r->dst_ip) & r->dst_ip_mask) &&
         !((f->src_port ^ r->src_port) & r->src_port_mask) &&
         !((f->dst_port ^ r->dst_port) & r->dst_port_mask) &&
         !((f->proto ^ r->proto) & r->proto_mask);
}

static bool holds(const struct pg_rule *r, const struct fields *f)
{
  switch (r->kind) {
  case PG_RULE_ETHERTYPE:
    return f->type == r->what;
  case PG_RULE_PTP:
    return f->is_ip4 && f->proto == IPPROTO_UDP && f->ptp == r->what;
  default:
    return five_tuple_holds(r, f);
  }
}

/* The first rule that holds for the packet, or NULL. */
const struct pg_rule *pg_rules_find(const struct pg_rules *rules, const struct packet *p)
{
  struct fields f;
  if (rules->n == 0)
    return NULL;
  read_fields(&f, p);
  for (int i = 0; i < rules->n; i++)
    if (holds(&rules->list[i], &f))
      return &rules->list[i];
  return NULL;
}

/* Add a rule, behind those of the same or higher priority. One that differs in its queue
 * alone is replaced. False if there are too many. */
bool pg_rules_add(struct pg_rules *rules, const struct pg_rule *rule)
{
  int at;
  for (at = 0; at < rules->n; at++) {
    struct pg_rule same = rules->list[at];
    same.queue = rule->queue;
    if (memcmp(&same, rule, sizeof same) == 0) {
      rules->list[at] = *rule;
      return true;
    }
  }
  if (rules->n == PG_RULES_MOST)
    return false;
  for (; at > 0 && rules->list[at - 1].priority < rule->priority; at--)
    rules->list[at] = rules->list[at - 1];
  rules->list[at] = *rule;
  __atomic_store_n(&rules->n, rules->n + 1, __ATOMIC_RELEASE);
  return true;
}
