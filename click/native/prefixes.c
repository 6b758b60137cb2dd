/* SPDX-License-Identifier: Apache-2.0
 *
 * The first of a list of prefixes that an address has.
 */
#include <stdint.h>
#include <string.h>

#include "ip.h"

/* The index of the first entry whose prefix the address (in network order) has; -1 if
 * none is. */
int32_t pg_ip4_neighbours_find(const struct ip4_neighbours *list, uint32_t n,
                               uint32_t address)
{
  for (uint32_t i = 0; i < n; i++)
    if ((address & list[i].mask) == list[i].prefix)
      return i;
  return -1;
}

/* The same for the 16 bytes at `address`. */
int32_t pg_ip6_prefix_find(const struct ip6_prefix *list, uint32_t n,
                           const uint8_t *address)
{
  uint64_t a[2];
  memcpy(a, address, sizeof a);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t prefix[2], mask[2];
    memcpy(prefix, list[i].prefix, sizeof prefix);
    memcpy(mask, list[i].mask, sizeof mask);
    if ((a[0] & mask[0]) == prefix[0] && (a[1] & mask[1]) == prefix[1])
      return i;
  }
  return -1;
}
