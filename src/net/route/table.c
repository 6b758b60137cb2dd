/* SPDX-License-Identifier: Apache-2.0
 *
 * The routes of a table, found by their prefixes.
 */
#define _GNU_SOURCE

#include <rte_byteorder.h>
#include <rte_common.h>

#include "route.h"
#include "pages.h"

enum { FIRST_ROUTES = 128, WAY_BUCKETS = 4096, WAYS = IP4_MOST_WAYS + 1 };

static uint32_t bucket_of(const struct ip4_table *t, uint32_t address, uint32_t mask)
{
  uint32_t x = (address ^ mask >> 7) * 0x9e3779b1u;
  return (x ^ x >> 15) & (uint32_t)(t->capacity - 1);
}

static size_t routes_bytes(int32_t capacity)
{
  return ((size_t)capacity + 1) * sizeof(struct ip4_route);
}

static size_t buckets_bytes(int32_t capacity)
{
  return (size_t)capacity * sizeof(int32_t);
}

/* Begin without routes; false if there is no memory, and it needn't be freed. */
bool pg_ip4_table_init(struct ip4_table *t)
{
  *t = (struct ip4_table){.capacity = FIRST_ROUTES, .hole = 1};
  t->routes = pages_new(routes_bytes(t->capacity));
  t->buckets = pages_new(buckets_bytes(t->capacity));
  t->ways = pages_new(WAYS * sizeof *t->ways);
  t->way_buckets = pages_new(WAY_BUCKETS * sizeof *t->way_buckets);
  if (!t->routes || !t->buckets || !t->ways || !t->way_buckets) {
    pg_ip4_table_free(t);
    return false;
  }
  t->ways[0].port = -1;
  return true;
}

void pg_ip4_table_free(struct ip4_table *t)
{
  pages_free(t->routes, routes_bytes(t->capacity));
  pages_free(t->buckets, buckets_bytes(t->capacity));
  pages_free(t->ways, WAYS * sizeof *t->ways);
  pages_free(t->way_buckets, WAY_BUCKETS * sizeof *t->way_buckets);
  pg_ip4_layout_free(t);
  *t = (struct ip4_table){0};
}

/* The place of the route for exactly that prefix; 0: there is none. */
int32_t pg_ip4_table_find(const struct ip4_table *t, uint32_t address, uint32_t mask)
{
  address &= mask;
  int32_t place = t->buckets[bucket_of(t, address, mask)];
  while (place && (t->routes[place].address != address || t->routes[place].mask != mask))
    place = t->routes[place].same_bucket;
  return place;
}

static void enter(struct ip4_table *t, int32_t place)
{
  struct ip4_route *r = &t->routes[place];
  int32_t *bucket = &t->buckets[bucket_of(t, r->address, r->mask)];
  r->same_bucket = *bucket;
  *bucket = place;
}

/* Room for four times as many. */
static bool grow(struct ip4_table *t)
{
  int32_t more = t->capacity * 4;
  int32_t *buckets = pages_new(buckets_bytes(more));
  struct ip4_route *routes =
    buckets ? pages_grow(t->routes, routes_bytes(t->capacity), routes_bytes(more)) : NULL;
  if (!routes) {
    pages_free(buckets, buckets_bytes(more));
    return false;
  }
  pages_free(t->buckets, buckets_bytes(t->capacity));
  t->routes = routes;
  t->buckets = buckets;
  t->capacity = more;
  for (int32_t place = 1; place <= t->last; place++)
    if (routes[place].used)
      enter(t, place);
  return true;
}

/* Free the ways that no route leads to any more, once no look-up finds them. */
static void free_ways(struct ip4_table *t)
{
  if (t->chunk && pg_ip4_table_lay_out(t, INT32_MAX) != 0)
    return;
  for (int i = 0; i < WAY_BUCKETS; i++)
    for (int32_t *at = &t->way_buckets[i]; *at;) {
      int32_t number = *at;
      struct ip4_way *way = &t->ways[number];
      if (way->routes > 0) {
        at = &way->next;
        continue;
      }
      *at = way->next;
      way->next = t->free_way;
      t->free_way = number;
    }
}

static int32_t new_way(struct ip4_table *t)
{
  if (t->nways < IP4_MOST_WAYS)
    return ++t->nways;
  if (!t->free_way)
    free_ways(t);
  int32_t way = t->free_way;
  t->free_way = t->ways[way].next;
  return way;
}

/* The way to that gateway and port; 0: there are too many. */
static uint16_t way_to(struct ip4_table *t, uint32_t gateway, int32_t port)
{
  int32_t word = (int32_t)rte_cpu_to_be_32(gateway);
  uint32_t hash = (gateway + (uint32_t)port * 0x85ebca6bu) * 0x9e3779b1u;
  int32_t *bucket = &t->way_buckets[hash >> 20]; /* as many as 12 bits count */
  for (int32_t way = *bucket; way; way = t->ways[way].next)
    if (t->ways[way].gateway == word && t->ways[way].port == port + 1)
      return (uint16_t)way;
  int32_t way = new_way(t);
  if (way) {
    t->ways[way] = (struct ip4_way){word, port + 1, *bucket, 0};
    *bucket = way;
  }
  return (uint16_t)way;
}

static int8_t length_of(uint32_t mask)
{
  uint32_t holes = ~mask;
  return holes & (holes + 1) ? -1 : (int8_t)__builtin_popcount(mask);
}

/* Put the route in the place of the one for its prefix, or at the first free place;
 * IP4_NO_MEMORY or IP4_TOO_MANY_WAYS. */
int32_t pg_ip4_table_put(struct ip4_table *t, uint32_t address, uint32_t mask,
                         uint32_t gateway, int32_t port)
{
  address &= mask;
  uint16_t way = way_to(t, gateway, port);
  if (!way)
    return IP4_TOO_MANY_WAYS;
  int32_t place = pg_ip4_table_find(t, address, mask);
  bool new = !place;
  if (new) {
    place = t->hole;
    while (place <= t->last && t->routes[place].used)
      place++;
    if (place > t->capacity && !grow(t))
      return IP4_NO_MEMORY;
    struct ip4_route *r = &t->routes[place];
    *r = (struct ip4_route){
      .address = address, .mask = mask, .length = length_of(mask), .used = true};
    enter(t, place);
    t->n++;
    t->odd += r->length < 0;
    t->last = RTE_MAX(t->last, place);
    t->hole = place + 1;
  }
  struct ip4_route *r = &t->routes[place];
  t->ways[r->way].routes -= !new;
  t->ways[way].routes++;
  r->gateway = gateway;
  r->port = port;
  r->way = way;
  if (new)
    pg_ip4_layout_add(t, place);
  else
    pg_ip4_layout_change(t, place);
  return place;
}

/* Remove the route at that place. */
void pg_ip4_table_remove(struct ip4_table *t, int32_t place)
{
  struct ip4_route *r = &t->routes[place];
  int32_t *at = &t->buckets[bucket_of(t, r->address, r->mask)];
  while (*at != place)
    at = &t->routes[*at].same_bucket;
  *at = r->same_bucket;
  pg_ip4_layout_remove(t, place);
  r->used = false;
  t->ways[r->way].routes--;
  t->n--;
  t->odd -= r->length < 0;
  t->hole = RTE_MIN(t->hole, place);
}
