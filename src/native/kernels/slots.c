/* SPDX-License-Identifier: Apache-2.0
 *
 * The lookup of lib.slots: chains are of any length, and such loops within the loop over
 * packets LuaJIT compiles badly.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../api.h"

/* The slot with the key, of `size` bytes, in the chain that begins with `slot` and goes
 * on by `next`; -1, which ends a chain, if there is none. */
int32_t pg_slots_find(const uint8_t *keys, uint32_t size, const int32_t *next,
                      int32_t slot, const void *key)
{
  while (slot >= 0 && memcmp(keys + (size_t)slot * size, key, size) != 0)
    slot = next[slot];
  return slot;
}
