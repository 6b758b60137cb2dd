/* SPDX-License-Identifier: Apache-2.0
 *
 * Which remote has an address: a hash table with linear probing.
 */
#include "internal.h"

enum { WORDS = 4 }; /* of an address: IPv4 has one, and zeros */

static inline uint32_t home(const struct vtep_index *index, const int32_t *address)
{
  uint32_t word[WORDS];
  memcpy(word, address, sizeof word);
  return mix(word[0] ^ rol(word[1], 8), word[2] ^ rol(word[3], 16),
             (uint32_t)index->seed) & (uint32_t)index->mask;
}

static inline uint32_t next(const struct vtep_index *index, uint32_t at)
{
  return (at + 1) & (uint32_t)index->mask;
}

/* The place of the remote with this address, or the free one where it would be. There
 * is always a free one: the table is larger than the number of remotes. */
static inline uint32_t place_of(const struct vtep_index *index, const int32_t *address)
{
  uint32_t at = home(index, address);
  while (index->place[at] &&
         memcmp(index->remote[index->place[at]].peer, address, WORDS * 4) != 0)
    at = next(index, at);
  return at;
}

/* The number of the remote with the address (its 16 bytes; IPv4: with zeros behind), or
 * 0. */
int32_t pg_remote_find(const struct vtep_index *index, const int32_t *address)
{
  return index->place[place_of(index, address)];
}

/* Enter the remote of this number, by its `peer`. */
void pg_remote_enter(const struct vtep_index *index, int32_t number)
{
  index->place[place_of(index, index->remote[number].peer)] = number;
}

/* Take the remote of this number out; those behind it that its place kept from a better
 * one move up. */
void pg_remote_leave(const struct vtep_index *index, int32_t number)
{
  uint32_t hole = place_of(index, index->remote[number].peer), at = hole;
  if (index->place[hole] != number)
    return;
  index->place[hole] = 0;
  while (index->place[at = next(index, at)]) {
    uint32_t from = home(index, index->remote[index->place[at]].peer);
    uint32_t mask = (uint32_t)index->mask;
    if (((at - from) & mask) < ((at - hole) & mask))
      continue; /* its home lies behind the hole */
    index->place[hole] = index->place[at];
    index->place[at] = 0;
    hole = at;
  }
}
