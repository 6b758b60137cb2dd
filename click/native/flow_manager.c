/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the flow of each packet, by the addresses, the protocol and the ports that it
 * has, and notes which it is.
 */
#include "../../src/net/flow/find.h"
#include "flow_manager.h"
#include "rewrite_key.h"

enum { NOTE32_FLOW_ID = 12, ID = sizeof(struct click_flow_id) };
_Static_assert(ID == 16, "no padding in a key");

/* Fragments behind the first have no ports, nor have other protocols. */
static __rte_always_inline bool id_of(const struct packet *p, struct click_flow_id *id)
{
  struct view v;
  if (!look(p, &v) || v.ip->version_ihl >> 4 != 4)
    return false;
  *id = (struct click_flow_id){.source = v.ip->src_addr, .destination = v.ip->dst_addr,
                               .protocol = v.ip->next_proto_id};
  if (has_ports(&v))
    memcpy(&id->sport, v.l4, 2 * sizeof id->sport);
  return true;
}

static __rte_always_inline bool is_of(const struct click_flow_manager *m,
                                      uint32_t number, const struct click_flow_id *id)
{
  const struct click_flow_head *head =
    (const struct click_flow_head *)flow_record(&m->table->records, number);
  return head->tag == (m->tag | number) && flow_same_key(&head->id, id, ID);
}

static __rte_always_inline uint32_t find(struct click_flow_manager *m,
                                         const struct packet *p,
                                         const struct click_flow_id *id)
{
  struct click_foreseen *b = &m->burst;
  const struct flow_index *x = &m->table->index;
  if (b->next < b->n && b->packet[b->next] == p) {
    uint32_t number = b->number[b->next++];
    if (number && is_of(m, number, id))
      return number;
  }
  return flow_find(x, id, flow_hash_of(x->secret, id, ID), ID);
}

static uint32_t add(struct click_flow_manager *m, const struct click_flow_id *id,
                    int64_t now)
{
  uint32_t number = pg_flow_table_add(m->table, id, 0, now);
  if (!number)
    return 0;
  struct click_flow_head *head =
    (struct click_flow_head *)flow_record(&m->table->records, number);
  head->tag = m->tag | number;
  m->added = 1;
  return number;
}

int32_t pg_flow_known(struct click_flow_manager *m, struct packet *p, bool answer)
{
  struct click_flow_id id;
  if (!id_of(p, &id))
    return -1;
  if (answer)
    id = (struct click_flow_id){.source = id.destination, .destination = id.source,
                                .sport = id.dport, .dport = id.sport,
                                .protocol = id.protocol};
  const struct flow_index *x = &m->table->index;
  return (int32_t)flow_find(x, &id, flow_hash_of(x->secret, &id, ID), ID);
}

int32_t pg_flow_manage(struct click_flow_manager *m, struct packet *p, int64_t now)
{
  struct click_flow_id id;
  m->added = 0;
  if (!id_of(p, &id))
    return -1;
  struct flow_table *t = m->table;
  uint32_t number = find(m, p, &id);
  if (!number)
    number = m->adds_none ? 0 : add(m, &id, now);
  else if (t->lists)
    flow_touch(&t->records, t->list, number, 0, now + t->list[0].timeout, now);
  if (number)
    p->note32[NOTE32_FLOW_ID] = m->tag | number;
  return (int32_t)number;
}

void pg_flow_manage_ahead(struct click_flow_manager *m, struct packet **packets,
                          int32_t n)
{
  struct click_foreseen *b = &m->burst;
  struct click_flow_id id[FORESEEN_MOST];
  b->n = n < FORESEEN_MOST ? n : FORESEEN_MOST;
  b->next = 0;
  for (int32_t i = 0; i < b->n; i++) {
    b->packet[i] = packets[i];
    if (!id_of(packets[i], &id[i]))
      id[i] = (struct click_flow_id){0};
  }
  pg_flow_table_find_many(m->table, id, ID, (uint32_t)b->n, b->number);
}

/* What core.cpus.distribute goes by: SCTP's ports, which are no part of an id, count
 * there, so its flows have no bucket; DCCP's don't. */
enum { NO_BUCKET = FLOW_BUCKETS };

static uint32_t bucket_of(const struct click_flow_id *id)
{
  if (id->protocol == IPPROTO_SCTP)
    return NO_BUCKET;
  uint32_t ports = 0;
  if (id->protocol != IPPROTO_DCCP)
    memcpy(&ports, &id->sport, sizeof ports);
  return pg_bucket_of(pg_tuple_hash(id->source, id->destination, ports));
}

uint32_t pg_flow_manage_next(const struct click_flow_manager *m, uint32_t number,
                             const uint8_t *buckets)
{
  while ((number = pg_flow_table_next(m->table, number))) {
    const struct click_flow_head *head =
      (const struct click_flow_head *)flow_record(&m->table->records, number);
    if (buckets[bucket_of(&head->id)])
      break;
  }
  return number;
}
