/* SPDX-License-Identifier: Apache-2.0
 *
 * The first of a list of prefixes that an address has.
 */
#include <stdint.h>

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
