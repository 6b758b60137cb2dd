/* SPDX-License-Identifier: Apache-2.0
 *
 * What hash tables and range maps of Snabb's are fast by: a search without
 * branches, and copies from many addresses at once, whose cache misses overlap.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_prefetch.h>

#include "../../src/native/api.h"
#include "snabb.h"

/* The first of `count` sorted entries, of `size` bytes each and beginning with
 * their key, whose key isn't less than `key`; the last if all are less. */
const void *pg_binary_search(const void *entries, uint32_t count,
                             uint32_t size, uint32_t key)
{
  const uint8_t *low = entries;
  while (count > 1) {
    uint32_t half = count / 2;
    uint32_t middle;
    memcpy(&middle, low + (size_t)(half - 1) * size, sizeof middle);
    low += middle < key ? (size_t)half * size : 0;
    count -= half;
  }
  return low;
}

/* Copy `size` bytes from each of `count` places, one after the other, to `to`. */
void pg_multi_copy(void *to, void **from, uint32_t count,
                   uint32_t size)
{
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t at = 0; at < size; at += 64)
      rte_prefetch0((uint8_t *)from[i] + at);
  for (uint32_t i = 0; i < count; i++)
    memcpy((uint8_t *)to + (size_t)i * size, from[i], size);
}
