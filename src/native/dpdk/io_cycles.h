/* SPDX-License-Identifier: Apache-2.0
 *
 * Time spent in a port's functions while an engine takes a sample of a breath
 * (cycles.c); without one it costs a branch a burst.
 */
#pragma once

#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

#include "../api.h"

/* The sample that this engine takes, or NULL. */
static inline struct cycles *sample_of(const struct freelist *account)
{
  return account->sample;
}

/* Add the cycles since `began` to `sum`, and to what the caller isn't charged. */
static inline void spent_on_ports(struct cycles *c, uint64_t *sum, uint64_t began)
{
  uint64_t spent = rte_rdtsc() - began;
  spent -= spent > c->reading ? c->reading : spent;
  *sum += spent;
  c->inside += spent + 2 * c->reading;
}
