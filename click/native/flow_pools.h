/* SPDX-License-Identifier: Apache-2.0
 *
 * Which ports, or addresses, of a range have replies already, as far as it is known: so a
 * search for a free one looks at each that is used once, and not once for each packet. A
 * pool is for replies that differ in nothing else, and there is one where a search has met
 * many that are used. One that is marked has replies; one that isn't may have.
 */
#pragma once

#include "../../src/net/flow/numbers.h"
#include "flows.h"

/* Where a search is: among the numbers from `base` to `base + top` of that group, which is
 * the key of replies without what is sought. */
struct click_pool_key {
  struct click_flow_key group;
  uint32_t base, top, port;
};

struct click_pool {
  struct click_pool_key key;
  uint32_t used, peak;         /* marked as flows have them; the most there were */
  struct flow_numbers *marked;
};

struct click_pool_key pg_flow_pool_key(const struct click_flow_kind *k,
                                       const struct click_flow_key *reply, bool port,
                                       uint32_t base, uint32_t top);
struct click_pool *pg_flow_pool_find(const struct click_flow_kind *k,
                                     const struct click_pool_key *key);
struct click_pool *pg_flow_pool_new(struct click_flow_kind *k,
                                    const struct click_pool_key *key);
int64_t pg_flow_pool_next(const struct click_pool *pool, uint32_t from);
void pg_flow_pool_done(struct click_flow_kind *k);
void pg_flow_pool_mark(struct click_pool *pool, uint32_t number, bool used);
void pg_flow_pools_mark(struct click_flow_kind *k, const struct click_flow_key *reply);
void pg_flow_pools_unmark(struct click_flow_kind *k, const struct click_flow_key *reply);
void pg_flow_pools_free(struct click_flow_pools *pools);
