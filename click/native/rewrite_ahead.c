/* SPDX-License-Identifier: Apache-2.0
 *
 * What a rewriter with more flows than fit into the caches does for the packets of a
 * burst before it rewrites the first: it finds their flows, asking the memory for all
 * slots at once, then for all flows.
 */
#include "rewrite_key.h"

struct place { const struct flow_line *line; uint32_t hash; };

static void ask_for_place(const struct click_rewriter *r, const struct packet *p,
                          struct place *place)
{
  struct view v;
  struct flow_words key;
  int32_t kind = look(p, &v) ? key_of(r, &v, &key) : -1;
  place->line = NULL;
  if (kind < 0)
    return;
  const struct click_flow_kind *k = &r->flows->kind[kind];
  place->hash = flow_hash(k, key);
  place->line = flow_line_of(&k->index, place->hash);
  __builtin_prefetch(place->line);
}

/* Note the flows of these packets for pg_rewrite, which sees whether each is that. (One
 * whose line is full and goes on it finds itself.) */
void pg_rewrite_ahead(struct click_rewriter *r, struct packet **packets, int32_t n)
{
  struct click_foreseen *seen = &r->foreseen;
  struct place place[FORESEEN_MOST];
  if (n > FORESEEN_MOST)
    n = FORESEEN_MOST;
  for (int32_t i = 0; i < n; i++)
    ask_for_place(r, packets[i], &place[i]);
  for (int32_t i = 0; i < n; i++) {
    uint32_t m = place[i].line ? flow_matches(place[i].line, place[i].hash) : 0;
    uint32_t number = m ? place[i].line->number[__builtin_ctz(m)] : 0;
    seen->packet[i] = packets[i];
    seen->number[i] = number;
    if (number)
      __builtin_prefetch(&r->flows->flow[number / 2], 1);
  }
  seen->n = n;
  seen->next = 0;
}
