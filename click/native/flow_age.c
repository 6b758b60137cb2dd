/* SPDX-License-Identifier: Apache-2.0
 *
 * How long flows stay. Each packet puts its flow at the end of a list, with the same
 * time to live as all others in it, so that lists need no sorting.
 */
#include <string.h>

#include "../../src/net/checksum/sum.h"
#include "flow_table.h"

static void unlink_flow(struct click_flows *t, uint32_t flow)
{
  struct click_flow *f = &t->flow[flow];
  pg_flow_unlink(&t->records, &t->kind[f->kind].list[f->age.list], flow);
}

static void link_flow(struct click_flows *t, uint32_t flow, uint8_t list, int64_t expiry)
{
  struct click_flow *f = &t->flow[flow];
  f->age.list = list;
  pg_flow_link(&t->records, &t->kind[f->kind].list[list], flow, expiry);
}

/* A packet of the flow has come. */
void pg_flows_touch(struct click_flows *t, uint32_t flow, int64_t now)
{
  flow_seen(t, flow, now);
}

static void destroy(struct click_flows *t, uint32_t flow)
{
  struct click_flow *f = &t->flow[flow];
  struct click_flow_kind *k = &t->kind[f->kind];
  unlink_flow(t, flow);
  pg_flow_table_unmap(t, k, 2 * flow);
  pg_flow_table_unmap(t, k, 2 * flow + 1);
  k->counts[f->input]--;
  pg_flow_table_give(t, flow);
}

/* When the flow may go. */
int64_t pg_flows_expiry(const struct click_flows *t, uint32_t flow)
{
  const struct click_flow *f = &t->flow[flow];
  const struct click_flow_kind *k = &t->kind[f->kind];
  if (f->age.list != FLOW_GUARANTEED)
    return f->age.expiry;
  return f->age.expiry + k->timeout[flow_timeout(k, f)] - k->guarantee;
}

/* Flows whose guarantee has ended may go at their timeouts. */
static void end_guarantees(struct click_flows *t, int64_t now)
{
  for (int32_t i = 0; i < t->kinds; i++) {
    struct click_flow_kind *k = &t->kind[i];
    for (uint32_t flow; (flow = k->list[FLOW_GUARANTEED].oldest);) {
      struct click_flow *f = &t->flow[flow];
      if (f->age.expiry > now)
        break;
      int64_t expiry = pg_flows_expiry(t, flow);
      unlink_flow(t, flow);
      link_flow(t, flow, (uint8_t)(1 + flow_timeout(k, f)), expiry);
    }
  }
}

/* The flow that expires first, of those in lists from `first` to `last`; or 0. */
static uint32_t next_to_go(const struct click_flows *t, int first, int last)
{
  uint32_t best = 0;
  for (int32_t i = 0; i < t->kinds; i++) {
    for (int j = first; j <= last; j++) {
      uint32_t flow = t->kind[i].list[j].oldest;
      if (flow && (!best || t->flow[flow].age.expiry < t->flow[best].age.expiry))
        best = flow;
    }
  }
  return best;
}

static uint32_t next_best_effort(const struct click_flows *t)
{
  return next_to_go(t, 1, FLOW_LISTS - 1);
}

/* Remove flows whose time is over, and those above the capacity; or all. */
void pg_flows_reap(struct click_flows *t, int64_t now, bool all)
{
  uint32_t flow;
  end_guarantees(t, now);
  for (int32_t i = 0; all && i < t->kinds; i++)
    if (t->kind[i].index.former)
      t->kind[i].index.former->forget = true;
  while ((flow = next_best_effort(t)) && t->flow[flow].age.expiry <= now)
    destroy(t, flow);
  while (t->records.count > (all ? 0 : (uint32_t)t->capacity)) {
    flow = next_best_effort(t);
    destroy(t, flow ? flow : next_to_go(t, FLOW_GUARANTEED, FLOW_GUARANTEED));
  }
}

/* Remove the flows that an input of the rewriter has made. */
void pg_flows_remove_input(struct click_flows *t, int32_t kind, uint8_t input)
{
  for (int i = 0; i < FLOW_LISTS; i++) {
    for (uint32_t flow = t->kind[kind].list[i].oldest, next; flow; flow = next) {
      next = t->flow[flow].age.newer;
      if (t->flow[flow].input == input)
        destroy(t, flow);
    }
  }
}

static void set_changes(struct click_flow *f, const struct click_flow_key *rewritten,
                        uint8_t how)
{
  uint16_t before[6], after[6], change = 0;
  memcpy(before, &f->key[0], sizeof before);
  memcpy(after, rewritten, sizeof after);
  for (int i = 0; i < 4; i++)
    change = pg_add_change(change, before[i], after[i]);
  f->ip_change = change;
  if (how == REWRITE_PING) /* ICMP's sum doesn't cover addresses */
    change = pg_add_change(0, before[4], after[4]);
  else
    for (int i = 4; i < 6; i++)
      change = pg_add_change(change, before[i], after[i]);
  f->l4_change = change;
}

/* Add a flow like the model (key[0], kind, input, output, protocol, reply_note), whose
 * packets get the key `rewritten`. Its number, or 0 if there is no room for it. */
uint32_t pg_flows_add(struct click_flows *t, const struct click_flow *model,
                      const struct click_flow_key *rewritten, int64_t now)
{
  struct click_flow_kind *k = &t->kind[model->kind];
  uint32_t flow = pg_flow_table_prepare(k) ? pg_flow_table_take(t) : 0;
  if (!flow)
    return 0;
  struct click_flow *f = &t->flow[flow];
  *f = *model;
  f->key[1] = (struct click_flow_key){rewritten->destination, rewritten->source,
                                      rewritten->dport, rewritten->sport};
  f->number = t->made++;
  f->state = 0;
  set_changes(f, rewritten, k->how);
  pg_flow_table_map(t, k, 2 * flow);
  uint32_t old = pg_flow_table_map(t, k, 2 * flow + 1);
  if (old && old / 2 != flow)
    destroy(t, old / 2);
  int64_t expiry;
  uint8_t list = flow_place(k, f, now, &expiry);
  link_flow(t, flow, list, expiry);
  k->counts[f->input]++;
  pg_flow_records_complete(&t->records, flow);
  if (t->records.count <= (uint32_t)t->capacity)
    return flow;
  end_guarantees(t, now);
  uint32_t going = next_best_effort(t);
  if (!going)
    going = flow;
  destroy(t, going);
  return going == flow ? 0 : flow;
}

/* Add the flows that an input of the kind in `from` has made to those of `to`. */
void pg_flows_copy(struct click_flows *to, int32_t to_kind,
                   const struct click_flows *from, int32_t from_kind, uint8_t input,
                   int64_t now)
{
  for (int i = FLOW_LISTS - 1; i >= 0; i--) {
    uint32_t flow = from->kind[from_kind].list[i].oldest;
    for (; flow; flow = from->flow[flow].age.newer) {
      struct click_flow model = from->flow[flow];
      if (model.input != input)
        continue;
      const struct click_flow_key *reply = &model.key[1];
      struct click_flow_key rewritten = {reply->destination, reply->source, reply->dport,
                                         reply->sport};
      model.kind = (uint8_t)to_kind;
      uint32_t copy = pg_flows_add(to, &model, &rewritten, now);
      if (!copy)
        continue;
      to->flow[copy].state = from->flow[flow].state;
      pg_flows_touch(to, copy, now);
    }
  }
}
