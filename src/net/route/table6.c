/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv6 routes as ranges of addresses, one behind the other: a look-up takes about as many
 * steps as their number has bits. A table is built at once.
 */
#include <stdlib.h>

#include "../wire/wire.h"
#include "route.h"

enum { LONGEST = 128 };

typedef unsigned __int128 address_t;

/* From `start` up to the next one's. */
struct ip6_range { address_t start; uint32_t value; };

static address_t address_at(const uint8_t *bytes)
{
  return (address_t)get64(bytes) << 64 | get64(bytes + 8);
}

/* The bits behind the prefix. */
static address_t host_bits(uint32_t length)
{
  return length ? ((address_t)1 << (LONGEST - length)) - 1 : ~(address_t)0;
}

static address_t start_of(const struct ip6_route *r)
{
  return address_at(r->address) & ~host_bits(r->length);
}

/* By where they begin, the longer prefix behind the shorter one. */
static int compare(const void *left, const void *right)
{
  const struct ip6_route *a = left, *b = right;
  address_t from_a = start_of(a), from_b = start_of(b);
  if (from_a != from_b)
    return from_a < from_b ? -1 : 1;
  if (a->length != b->length)
    return a->length < b->length ? -1 : 1;
  return a->value < b->value ? -1 : a->value > b->value;
}

/* From `start` on it is that value: ranges next to each other have different ones. */
static void go_on(struct ip6_table *t, address_t start, uint32_t value)
{
  struct ip6_range *end = t->ranges + t->n;
  if (t->n && end[-1].start == start) {
    t->n--;
    end--;
  }
  if (t->n && end[-1].value == value)
    return;
  *end = (struct ip6_range){start, value};
  t->n++;
}

/* Make the table of `n` routes, which are put in order, with values from 1; of several
 * for a prefix the one with the lowest value counts. False without memory. */
bool pg_ip6_table_build(struct ip6_table *t, struct ip6_route *routes, uint32_t n)
{
  struct { address_t last; uint32_t value; } stack[LONGEST + 2] = {{~(address_t)0, 0}};
  int top = 0;
  *t = (struct ip6_table){.ranges = malloc((2 * (size_t)n + 1) * sizeof *t->ranges)};
  if (!t->ranges)
    return false;
  qsort(routes, n, sizeof *routes, compare);
  go_on(t, 0, 0);
  for (uint32_t i = 0; i < n; i++) {
    address_t start = start_of(&routes[i]), last = start | host_bits(routes[i].length);
    if (i > 0 && routes[i - 1].length == routes[i].length &&
        start_of(&routes[i - 1]) == start)
      continue;
    for (; stack[top].last < start; top--)
      go_on(t, stack[top].last + 1, stack[top - 1].value);
    go_on(t, start, routes[i].value);
    stack[++top].last = last;
    stack[top].value = routes[i].value;
  }
  for (; top > 0 && stack[top].last < ~(address_t)0; top--)
    go_on(t, stack[top].last + 1, stack[top - 1].value);
  return true;
}

void pg_ip6_table_free(struct ip6_table *t)
{
  free(t->ranges);
  *t = (struct ip6_table){0};
}

/* The value of the longest prefix of the 16 bytes at `address`; 0: there is none. */
uint32_t pg_ip6_table_look_up(const struct ip6_table *t, const uint8_t *address)
{
  address_t key = address_at(address);
  const struct ip6_range *at = t->ranges;
  for (uint32_t n = t->n; n > 1;) {
    uint32_t half = n / 2;
    at += at[half].start <= key ? half : 0;
    n -= half;
  }
  return at->value;
}
