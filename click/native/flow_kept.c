/* SPDX-License-Identifier: Apache-2.0
 *
 * Flows of a process that has ended (src/net/keep), as they were or as somebody has made
 * them up: what a record says is checked before it is a flow.
 */
#include "flow_table.h"

enum { LONG_AGO = 1 << 30 }; /* milliseconds */

/* Where the record's flow is to be, and until when; false if its time is over. One whose
 * guarantee has ended meanwhile has the rest of its timeout. */
static bool place_of(const struct click_flow_kind *k, const struct click_flow *f,
                     int64_t now, uint8_t *list, int64_t *expiry)
{
  int timeout = flow_timeout(k, f);
  bool guaranteed = k->guarantee && f->age.list == FLOW_GUARANTEED;
  int64_t most = guaranteed ? k->guarantee : k->timeout[timeout];
  *list = guaranteed ? FLOW_GUARANTEED : (uint8_t)(1 + timeout);
  *expiry = f->age.expiry < now + most ? f->age.expiry : now + most;
  if (guaranteed && *expiry <= now && *expiry > now - LONG_AGO) {
    *expiry += k->timeout[timeout] - k->guarantee;
    *list = (uint8_t)(1 + timeout);
  }
  return *expiry > now;
}

static bool is_there(const struct click_flows *t, int32_t kind,
                     const struct click_flow *f)
{
  return pg_flows_find(t, kind, &f->key[0]) || pg_flows_find(t, kind, &f->key[1]);
}

/* Do packets of the record's flow come to this copy, before they are rewritten? A keep_own
 * of a struct click_into. */
bool pg_flows_is_own(void *context, const void *record)
{
  const struct click_into *into = context;
  struct click_flow model;
  memcpy(&model, record, sizeof model);
  uint8_t kind = into->heirs->kind[model.kind];
  return kind >= into->flows->kinds ||
         pg_flows_comes_here(into->flows, kind, &model.key[0]);
}

/* Go on with the flow of a record. An enum click_kept. */
uint32_t pg_flows_restore(struct click_flows *t, const struct click_heirs *heirs,
                          const void *record, int64_t now)
{
  struct click_flow model;
  memcpy(&model, record, sizeof model);
  uint8_t kind = heirs->kind[model.kind], input = heirs->input[model.kind][model.input];
  if (kind >= t->kinds || kind == NO_FLOW || input == NO_FLOW)
    return KEPT_UNKNOWN;
  if (model.output[0] >= heirs->outputs[kind] || model.output[1] >= heirs->outputs[kind])
    return KEPT_BAD;
  if (model.shifted)
    return KEPT_SHIFTED;
  uint8_t list;
  int64_t expiry;
  if (!place_of(&t->kind[kind], &model, now, &list, &expiry))
    return KEPT_OLD;
  if (is_there(t, kind, &model))
    return KEPT_TWICE;
  if (!pg_flows_is_free(t, kind, &model.key[1]))
    return KEPT_ELSEWHERE;
  if (t->records.count >= (uint32_t)t->capacity)
    return KEPT_NO_ROOM;
  model.kind = kind;
  model.input = input;
  const struct click_flow_key *reply = &model.key[1];
  struct click_flow_key rewritten = {reply->destination, reply->source, reply->dport,
                                     reply->sport};
  uint32_t flow = pg_flows_add(t, &model, &rewritten, now);
  if (!flow)
    return KEPT_NO_ROOM;
  struct click_flow *f = &t->flow[flow];
  struct flow_list *lists = t->kind[kind].list;
  f->state = model.state;
  pg_flow_unlink(&t->records, &lists[f->age.list], flow);
  f->age.list = list;
  pg_flow_link_end(&t->records, &lists[list], flow, expiry);
  return KEPT_USED;
}

/* The same, as net/keep/former.h has it: `into` is a struct click_into. */
uint32_t pg_flows_restore_into(void *into, const void *record, int64_t now)
{
  const struct click_into *i = into;
  return pg_flows_restore(i->flows, i->heirs, record, now);
}
