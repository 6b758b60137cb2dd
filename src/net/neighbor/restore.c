/* SPDX-License-Identifier: Apache-2.0
 *
 * A neighbour of a process that has ended (net/keep), put into the table of what this one
 * keeps.
 */
#include <string.h>

#include "../keep/keep.h"
#include "neighbor.h"

enum { WORD = 4, MAC_BITS = 48 };

/* Bytes of the address; 0: there are none of that length. */
static uint32_t bytes_of(const struct neighbor_record *r)
{
  uint32_t n = r->length;
  return n == 0 ? WORD : n == 4 || n == sizeof r->address ? n : 0;
}

/* A keep_restore (net/keep/former.h) of a struct neighbor_into. */
uint32_t pg_neighbor_restore(void *context, const void *record, int64_t now)
{
  struct neighbor_into *into = context;
  struct neighbor_record r;
  uint32_t number;
  memcpy(&r, record, sizeof r);
  uint32_t bytes = bytes_of(&r);
  if (!bytes || r.mac >> MAC_BITS)
    return KEEP_BAD;
  if (!r.mac)
    return NEIGHBOR_PASSED;
  if (into->count >= into->most || into->made == NEIGHBOR_AT_ONCE)
    return KEEP_FULL;
  /* No other bytes stand for the same address. */
  memset(r.address + bytes, 0, sizeof r.address - bytes);
  r.unused = 0;
  uint32_t outcome = pg_keep_restore(into->table, &r, now, &number);
  if (outcome == KEEP_USED) {
    into->count++;
    into->number[into->made++] = number;
  }
  return outcome;
}
