/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of flows that several threads share. Whoever has found a record holds it; others
 * who want the same wait until it is let go. Plain declarations, as in flow.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct flow_shared;

/* One thread's hold on a record. All zeros: it holds none. */
struct flow_hold {
  struct flow_shared *table;
  uint32_t part, number;     /* number 0: none */
};

enum flow_held { FLOW_NO_ROOM = -1, FLOW_NONE, FLOW_FOUND, FLOW_ADDED };

struct flow_shared *pg_flow_shared_new(uint32_t key_size, uint32_t value_size);
void pg_flow_shared_free(struct flow_shared *s);
int32_t pg_flow_shared_hold(struct flow_shared *s, struct flow_hold *h, const void *key,
                            bool may_add);
void pg_flow_shared_release(struct flow_hold *h);
uint8_t *pg_flow_shared_value(const struct flow_hold *h);
bool pg_flow_shared_erase(struct flow_shared *s, struct flow_hold *h);
uint32_t pg_flow_shared_clean(struct flow_shared *s, uint64_t threshold);
void pg_flow_shared_clear(struct flow_shared *s);
