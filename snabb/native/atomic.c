/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomic operations on memory that several processes share (snabb/core/sync.lua).
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_pause.h>

#include "../../src/native/api.h"
#include "snabb.h"

uint32_t pg_atomic_load32(const uint32_t *from)
{
  return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

uint64_t pg_atomic_load64(const uint64_t *from)
{
  return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

/* If *at is `old`, make it `new`; whether it was. */
bool pg_atomic_cas32(int32_t *at, int32_t old, int32_t new)
{
  return __atomic_compare_exchange_n(at, &old, new, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

bool pg_atomic_cas64(uint64_t *at, uint64_t old, uint64_t new)
{
  return __atomic_compare_exchange_n(at, &old, new, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}
