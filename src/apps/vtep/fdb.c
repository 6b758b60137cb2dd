/* SPDX-License-Identifier: Apache-2.0
 *
 * The forwarding table as apps.vtep.fdb sees it. Where a key lies is chance: compiled by
 * LuaJIT each place would be a trace of its own.
 */
#include "internal.h"

/* The hash of a key; the key's buckets are this & mask and its rotation by 16. */
int32_t pg_fdb_hash(int32_t seed, int32_t a, int32_t b)
{
  return (int32_t)mix((uint32_t)a, (uint32_t)b, (uint32_t)seed);
}

/* The number of the slot with the key (a, b), or -1. */
int32_t pg_fdb_find(const struct vtep_entry *slot, int32_t mask, int32_t seed,
                    int32_t a, int32_t b)
{
  return find_slot(slot, mask, seed, a, b);
}
