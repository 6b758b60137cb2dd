/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files that look after tables of flows (flows.h) share.
 */
#pragma once

#include <rte_byteorder.h>

#include "flows.h"

/* Before two numbers are mapped: is there room? */
bool pg_flow_table_prepare(struct click_flow_kind *k);

/* Find the flow and direction `number` by its key from now on; the number that was
 * found by that before, or 0. And don't, if it is that one. */
uint32_t pg_flow_table_map(struct click_flows *t, struct click_flow_kind *k,
                           uint32_t number);
void pg_flow_table_unmap(struct click_flows *t, struct click_flow_kind *k,
                         uint32_t number);

/* Memory for a flow; 0 if there is none. And back. */
uint32_t pg_flow_table_take(struct click_flows *t);
void pg_flow_table_give(struct click_flows *t, uint32_t flow);

/* Its numbers in TCP's header are no longer what they were (tcp_deltas.c). */
struct rte_tcp_hdr;
void pg_flow_deltas_apply(struct click_flows *t, uint32_t number, uint8_t *tcp,
                          uint32_t length);

/* The sum `sum` of a header after `change` was added to what it sums up (RFC 1624). */
static inline uint16_t changed_sum(uint16_t sum, uint16_t change)
{
  uint32_t s = (uint16_t)~sum + (uint32_t)change;
  s = (s & 0xffff) + (s >> 16);
  return (uint16_t)~s;
}

/* What putting `new_word` in the place of `old_word` adds. */
static inline uint16_t add_change(uint16_t change, uint16_t old_word, uint16_t new_word)
{
  uint32_t s = (uint32_t)change + (uint16_t)~old_word + new_word;
  s = (s & 0xffff) + (s >> 16);
  return (uint16_t)((s & 0xffff) + (s >> 16));
}
