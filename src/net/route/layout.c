/* SPDX-License-Identifier: Apache-2.0
 *
 * Routes laid out for lookups: the first 16 bits of an address are an index, the others
 * are looked for among ranges, in about as many steps as their number has bits (Zec,
 * Rizzo, Mikuc: "DXR: towards a billion routing lookups per second in software", 2012).
 * What has changed is laid out again chunk by chunk.
 */
#define _GNU_SOURCE

#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "route.h"
#include "pages.h"

enum { CHUNKS = 1 << 16, SHORT = 16, FIRST_ROOM = 1024, BITS = 64, CHUNK_COST = 4 };

/* A route within a chunk: where it begins (16 bits), and how long it is (4 bits). */
struct ip4_sorted { uint32_t key; uint16_t way; };

static const size_t chunk_bytes = CHUNKS * sizeof(struct ip4_chunk),
                    short_bytes = 2 * CHUNKS * sizeof(uint16_t),
                    first_bytes = CHUNKS * sizeof(int32_t), changed_bytes = CHUNKS / 8;

/* Memory ---------------------------------------------------------------------------- */

static bool begin(struct ip4_table *t)
{
  if (t->chunk)
    return true;
  t->chunk = pages_new(chunk_bytes);
  t->short_ways = pages_new(short_bytes);
  t->first = pages_new(first_bytes);
  t->changed = pages_new(changed_bytes);
  if (t->chunk && t->short_ways && t->first && t->changed)
    return true;
  pg_ip4_layout_free(t);
  return false;
}

/* The array of *capacity elements of `size` bytes, with room for `n` of them; NULL, and
 * it is as before. */
static void *room_for(void *array, uint32_t *capacity, uint32_t n, size_t size)
{
  uint32_t more = *capacity ? *capacity : FIRST_ROOM;
  while (more < n)
    more *= 2;
  if (more == *capacity)
    return array;
  void *larger = pages_grow(array, *capacity * size, more * size);
  if (larger)
    *capacity = more;
  return larger;
}

/* Forget how the routes are laid out. */
void pg_ip4_layout_free(struct ip4_table *t)
{
  pages_free(t->chunk, chunk_bytes);
  pages_free(t->short_ways, short_bytes);
  pages_free(t->first, first_bytes);
  pages_free(t->changed, changed_bytes);
  pages_free(t->ranges, t->capacity_ranges * sizeof *t->ranges);
  pages_free(t->sorted, t->capacity_sorted * sizeof *t->sorted);
  t->chunk = NULL;
  t->short_ways = NULL;
  t->first = NULL;
  t->changed = NULL;
  t->ranges = NULL;
  t->sorted = NULL;
  t->capacity_ranges = t->used_ranges = t->useful_ranges = t->capacity_sorted = 0;
  t->changed_from = t->known = 0;
}

/* What has changed ------------------------------------------------------------------- */

static void mark(struct ip4_table *t, const struct ip4_route *r)
{
  uint32_t first = r->address >> 16, n = r->length < SHORT ? 1u << (SHORT - r->length) : 1;
  for (uint32_t chunk = first; chunk < first + n; chunk += BITS) {
    uint64_t bits = n >= BITS ? UINT64_MAX : ((UINT64_C(1) << n) - 1) << chunk % BITS;
    t->changed[chunk / BITS] |= bits;
  }
  t->changed_from = RTE_MIN(t->changed_from, (int32_t)(first / BITS));
}

static uint16_t *short_way(struct ip4_table *t, uint32_t address, int length)
{
  return &t->short_ways[(1u << length) + (uint32_t)((uint64_t)address >> (32 - length))];
}

/* Is the route laid out with the others, or will it be? */
static bool is_known(const struct ip4_table *t, int32_t place)
{
  return t->chunk && place <= t->known && t->routes[place].length >= 0;
}

/* A new route. */
void pg_ip4_layout_add(struct ip4_table *t, int32_t place)
{
  struct ip4_route *r = &t->routes[place];
  if (!is_known(t, place))
    return;
  if (r->length <= SHORT) {
    *short_way(t, r->address, r->length) = r->way;
  } else {
    int32_t *first = &t->first[r->address >> 16];
    r->same_chunk = *first;
    r->before_chunk = 0;
    t->routes[*first].before_chunk = place; /* of place 0 if there is none */
    *first = place;
  }
  mark(t, r);
}

/* It has another way. */
void pg_ip4_layout_change(struct ip4_table *t, int32_t place)
{
  const struct ip4_route *r = &t->routes[place];
  if (!is_known(t, place))
    return;
  if (r->length <= SHORT)
    *short_way(t, r->address, r->length) = r->way;
  mark(t, r);
}

/* It goes. */
void pg_ip4_layout_remove(struct ip4_table *t, int32_t place)
{
  const struct ip4_route *r = &t->routes[place];
  if (!is_known(t, place))
    return;
  if (r->length <= SHORT) {
    *short_way(t, r->address, r->length) = 0;
  } else {
    t->routes[r->same_chunk].before_chunk = r->before_chunk;
    if (r->before_chunk)
      t->routes[r->before_chunk].same_chunk = r->same_chunk;
    else
      t->first[r->address >> 16] = r->same_chunk;
  }
  mark(t, r);
}

/* Laying out --------------------------------------------------------------------------- */

/* The way of the whole chunk, but for longer prefixes. */
static uint16_t way_of_chunk(struct ip4_table *t, uint32_t number)
{
  for (int length = SHORT; length >= 0; length--) {
    uint16_t way = *short_way(t, number << 16, length);
    if (way)
      return way;
  }
  return 0;
}

/* The chunk's routes by where they begin, the longer prefix behind the shorter one: how
 * many; -1 without memory. A counting sort by the key's lower and its upper 10 bits. */
static int64_t sort_routes(struct ip4_table *t, uint32_t number)
{
  enum { DIGIT = 10, VALUES = 1 << DIGIT };
  uint32_t counts[2][VALUES] = {{0}}, n = 0;
  for (int32_t at = t->first[number]; at; at = t->routes[at].same_chunk)
    n++;
  struct ip4_sorted *list =
    room_for(t->sorted, &t->capacity_sorted, 2 * n, sizeof *t->sorted);
  if (!list)
    return -1;
  t->sorted = list;
  struct ip4_sorted *other = list + n;
  uint32_t i = 0;
  for (int32_t at = t->first[number]; at; at = t->routes[at].same_chunk) {
    const struct ip4_route *r = &t->routes[at];
    uint32_t key = (r->address & 0xffff) << 4 | (uint32_t)(r->length - SHORT - 1);
    list[i++] = (struct ip4_sorted){key, r->way};
    counts[0][key % VALUES]++;
    counts[1][key / VALUES]++;
  }
  for (int digit = 0; digit < 2; digit++) {
    uint32_t sum = 0;
    for (uint32_t v = 0; v < VALUES; v++) {
      uint32_t count = counts[digit][v];
      counts[digit][v] = sum;
      sum += count;
    }
    for (i = 0; i < n; i++)
      other[counts[digit][list[i].key >> digit * DIGIT & (VALUES - 1)]++] = list[i];
    struct ip4_sorted *sorted = other;
    other = list;
    list = sorted;
  }
  return n;
}

/* From `start` on it is that way: ranges next to each other have different ones. */
static uint32_t go_on(struct ip4_range *ranges, uint32_t n, uint32_t start, uint16_t way)
{
  if (n && ranges[n - 1].start == start)
    n--;
  if (n && ranges[n - 1].way == way)
    return n;
  ranges[n] = (struct ip4_range){(uint16_t)start, way};
  return n + 1;
}

/* The chunk's ranges for its `count` sorted routes; how many. Prefixes lie within each
 * other: the inner ones are on top of a stack. */
static uint32_t ranges_of(const struct ip4_sorted *routes, uint32_t count, uint16_t way,
                          struct ip4_range *ranges)
{
  struct { uint32_t end; uint16_t way; } stack[32 - SHORT + 1] = {{CHUNKS, way}};
  uint32_t n = go_on(ranges, 0, 0, way);
  int top = 0;
  for (uint32_t i = 0; i <= count; i++) {
    uint32_t start = i < count ? routes[i].key >> 4 : CHUNKS;
    for (; top > 0 && stack[top].end <= start; top--)
      if (stack[top].end < CHUNKS)
        n = go_on(ranges, n, stack[top].end, stack[top - 1].way);
    if (i == count)
      break;
    n = go_on(ranges, n, start, routes[i].way);
    uint32_t size = 1u << (SHORT - 1 - (routes[i].key & 15));
    stack[++top].end = start + size;
    stack[top].way = routes[i].way;
  }
  return n;
}

/* Leave out the ranges that are of no use, if they are more than the others. */
static void tidy(struct ip4_table *t)
{
  if (t->used_ranges <= 2 * t->useful_ranges + FIRST_ROOM)
    return;
  uint32_t capacity = 0, used = 0;
  struct ip4_range *ranges = room_for(NULL, &capacity, t->useful_ranges, sizeof *ranges);
  if (!ranges)
    return; /* it can wait */
  for (struct ip4_chunk *c = t->chunk; c < t->chunk + CHUNKS; c++)
    if (c->n) {
      memcpy(ranges + used, t->ranges + c->at, (size_t)c->n * sizeof *ranges);
      c->at = (int32_t)used;
      used += (uint32_t)c->n;
    }
  pages_free(t->ranges, t->capacity_ranges * sizeof *ranges);
  t->ranges = ranges;
  t->capacity_ranges = capacity;
  t->used_ranges = used;
}

/* Lay the chunk out; how many routes it has, or -1 without memory. */
static int64_t lay_out(struct ip4_table *t, uint32_t number)
{
  struct ip4_chunk *c = &t->chunk[number];
  int64_t count = t->first[number] ? sort_routes(t, number) : 0;
  uint16_t way = way_of_chunk(t, number);
  uint32_t most = t->used_ranges + 2 * (uint32_t)count + 1;
  struct ip4_range *all =
    count < 0 ? NULL : room_for(t->ranges, &t->capacity_ranges, most, sizeof *t->ranges);
  if (!all)
    return -1;
  t->ranges = all;
  struct ip4_range *ranges = all + t->used_ranges;
  uint32_t n = ranges_of(t->sorted, (uint32_t)count, way, ranges);
  t->useful_ranges -= (uint32_t)c->n;
  if (n == 1) {
    *c = (struct ip4_chunk){ranges[0].way, 0};
    return count;
  }
  if (n <= (uint32_t)c->n) {
    memcpy(all + c->at, ranges, n * sizeof *ranges);
    c->n = (int32_t)n;
  } else {
    *c = (struct ip4_chunk){(int32_t)t->used_ranges, (int32_t)n};
    t->used_ranges += n;
  }
  t->useful_ranges += n;
  return count;
}

/* Let what has changed count, about `most` routes of it. 0: all is done; 1: there is
 * more; or IP4_NO_MEMORY. */
int32_t pg_ip4_table_lay_out(struct ip4_table *t, int32_t most)
{
  if (!begin(t))
    return IP4_NO_MEMORY;
  for (; t->known < t->last && most > 0; most--) {
    int32_t place = ++t->known;
    if (t->routes[place].used)
      pg_ip4_layout_add(t, place);
  }
  for (; t->changed_from < CHUNKS / BITS; t->changed_from++) {
    uint64_t *word = &t->changed[t->changed_from];
    while (*word) {
      if (most <= 0)
        return 1;
      uint32_t bit = (uint32_t)__builtin_ctzll(*word);
      int64_t n = lay_out(t, (uint32_t)t->changed_from * BITS + bit);
      if (n < 0)
        return IP4_NO_MEMORY;
      *word &= *word - 1;
      most -= (int32_t)n + CHUNK_COST;
    }
  }
  if (t->known < t->last)
    return 1;
  tidy(t);
  return 0;
}

/* Lookup ---------------------------------------------------------------------------- */

/* The way to an address (as it lies in headers); 0: there is none. */
int32_t pg_ip4_table_look_up(const struct ip4_table *t, uint32_t address)
{
  address = rte_be_to_cpu_32(address);
  const struct ip4_chunk *chunk = &t->chunk[address >> 16];
  if (chunk->n == 0)
    return chunk->at;
  const struct ip4_range *at = t->ranges + chunk->at;
  uint32_t low = address & 0xffff;
  for (uint32_t n = chunk->n; n > 1;) {
    uint32_t half = n / 2;
    at += at[half].start <= low ? half : 0;
    n -= half;
  }
  return at->way;
}
