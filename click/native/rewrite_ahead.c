/* SPDX-License-Identifier: Apache-2.0
 *
 * What a rewriter with more flows than fit into the caches does for the packets of a
 * burst before it rewrites the first: their flows come while it works on others.
 */
#include "rewrite_key.h"

/* Ask the memory for what pg_rewrite is going to need of these packets: first for all
 * slots, then for the flows that the slots name. (What isn't in its own place costs
 * pg_rewrite a wait.) */
void pg_rewrite_ahead(const struct click_rewriter *r, struct packet **packets, int32_t n)
{
  enum { AT_ONCE = 64 };
  const struct click_flow_slot *slots[AT_ONCE];
  const struct click_flows *t = r->flows;
  int32_t found = 0;
  for (int32_t i = 0; i < n; i++) {
    struct view v;
    struct flow_words key;
    int32_t kind = look(packets[i], &v) ? key_of(r, &v, &key) : -1;
    if (kind >= 0) {
      const struct click_flow_slots *all = &t->kind[kind].slots;
      const struct click_flow_slot *slot = &all->slot[flow_hash(t, key) & all->mask];
      __builtin_prefetch(slot);
      slots[found++] = slot;
    }
    if (found < AT_ONCE && i < n - 1)
      continue;
    for (int32_t j = 0; j < found; j++)
      __builtin_prefetch(&t->flow[slots[j]->number / 2], 1);
    found = 0;
  }
}
