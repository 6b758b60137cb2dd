/* SPDX-License-Identifier: Apache-2.0
 *
 * rte_ring_count() for a thread that neither puts into the ring nor takes out of it:
 * reads both ends atomically.
 */
#pragma once

#include <rte_common.h>
#include <rte_ring.h>

static inline uint32_t pg_ring_count(const struct rte_ring *r)
{
  uint32_t produced = __atomic_load_n(&r->prod.tail, __ATOMIC_RELAXED);
  uint32_t consumed = __atomic_load_n(&r->cons.tail, __ATOMIC_RELAXED);
  return RTE_MIN((produced - consumed) & r->mask, r->capacity);
}
