/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash maps of hmap.h: parts with a lock each, in which entries of the same hash are
 * in a list. Who holds an entry keeps no lock, so one thread can hold several.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_jhash.h>

#include "hmap.h"

enum { PARTS = 64, FIRST_SLOTS = 16 };

struct mg_hmap_entry {
  struct mg_hmap_entry *next;
  uint32_t hash;
  uint32_t waiting;          /* threads that want to hold it */
  bool held, gone;           /* gone: not in the map any more, freed by the last */
  uint64_t data[];           /* key and value */
};

struct part {
  pthread_mutex_t mutex;
  struct mg_hmap_entry **slots;
  uint32_t nslots, count;
};

struct mg_hmap {
  uint32_t key_size, value_at, value_size; /* value_at: in uint64_t */
  struct part parts[PARTS];
};

struct mg_hmap *mg_hmap_new(uint32_t key_size, uint32_t value_size)
{
  struct mg_hmap *map = calloc(1, sizeof *map);
  if (!map)
    return NULL;
  map->key_size = key_size;
  map->value_at = (key_size + 7) / 8;
  map->value_size = value_size;
  for (int i = 0; i < PARTS; i++) {
    struct part *part = &map->parts[i];
    pthread_mutex_init(&part->mutex, NULL);
    part->nslots = FIRST_SLOTS;
    part->slots = calloc(FIRST_SLOTS, sizeof *part->slots);
    if (!part->slots) {
      mg_hmap_free(map);
      return NULL;
    }
  }
  return map;
}

static struct part *part_of(struct mg_hmap *map, uint32_t hash)
{
  return &map->parts[hash % PARTS];
}

static struct mg_hmap_entry **slot_of(struct part *part, uint32_t hash)
{
  return &part->slots[hash / PARTS & (part->nslots - 1)];
}

/* Twice as many slots. Without memory for them lists get longer. */
static void grow(struct part *part)
{
  struct part larger = {.nslots = part->nslots * 2};
  larger.slots = calloc(larger.nslots, sizeof *larger.slots);
  if (!larger.slots)
    return;
  for (uint32_t i = 0; i < part->nslots; i++)
    for (struct mg_hmap_entry *e = part->slots[i], *next; e; e = next) {
      struct mg_hmap_entry **to = slot_of(&larger, e->hash);
      next = e->next;
      e->next = *to;
      *to = e;
    }
  free(part->slots);
  part->slots = larger.slots;
  part->nslots = larger.nslots;
}

static struct mg_hmap_entry *find(struct mg_hmap *map, struct part *part, uint32_t hash,
                                  const void *key)
{
  struct mg_hmap_entry *e = *slot_of(part, hash);
  while (e && (e->hash != hash || memcmp(e->data, key, map->key_size) != 0))
    e = e->next;
  return e;
}

static struct mg_hmap_entry *add(struct mg_hmap *map, struct part *part, uint32_t hash,
                                 const void *key)
{
  struct mg_hmap_entry *e = calloc(1, sizeof *e + map->value_at * 8 + map->value_size);
  if (!e)
    return NULL;
  if (part->count >= part->nslots)
    grow(part);
  memcpy(e->data, key, map->key_size);
  e->hash = hash;
  e->next = *slot_of(part, hash);
  *slot_of(part, hash) = e;
  part->count++;
  return e;
}

static void free_if_last(struct mg_hmap_entry *e)
{
  if (e->gone && !e->held && e->waiting == 0)
    free(e);
}

static void take_out(struct part *part, struct mg_hmap_entry **at)
{
  struct mg_hmap_entry *e = *at;
  *at = e->next;
  part->count--;
  e->gone = true;
  free_if_last(e);
}

/* Wait until nobody holds it, or it is gone. */
static void wait_for(struct part *part, struct mg_hmap_entry *e)
{
  e->waiting++;
  while (e->held && !e->gone) {
    pthread_mutex_unlock(&part->mutex);
    sched_yield();
    pthread_mutex_lock(&part->mutex);
  }
  e->waiting--;
}

int32_t mg_hmap_hold(struct mg_hmap *map, struct mg_hmap_accessor *a, const void *key,
                     bool may_add)
{
  uint32_t hash = rte_jhash(key, map->key_size, 0);
  struct part *part = part_of(map, hash);
  struct mg_hmap_entry *e;
  int32_t result = MG_HMAP_FOUND;
  mg_hmap_release(a);
  pthread_mutex_lock(&part->mutex);
  while ((e = find(map, part, hash, key)) && e->held) {
    wait_for(part, e);
    free_if_last(e);
  }
  if (!e) {
    e = may_add ? add(map, part, hash, key) : NULL;
    result = e ? MG_HMAP_ADDED : may_add ? MG_HMAP_NO_MEMORY : MG_HMAP_NONE;
  }
  if (e)
    e->held = true;
  pthread_mutex_unlock(&part->mutex);
  *a = (struct mg_hmap_accessor){map, e};
  return result;
}

void mg_hmap_release(struct mg_hmap_accessor *a)
{
  struct mg_hmap_entry *e = a->entry;
  if (!e)
    return;
  struct part *part = part_of(a->map, e->hash);
  a->entry = NULL;
  pthread_mutex_lock(&part->mutex);
  e->held = false;
  free_if_last(e);
  pthread_mutex_unlock(&part->mutex);
}

uint8_t *mg_hmap_value(struct mg_hmap_accessor *a)
{
  return a->entry ? (uint8_t *)(a->entry->data + a->map->value_at) : NULL;
}

bool mg_hmap_erase(struct mg_hmap *map, struct mg_hmap_accessor *a)
{
  struct mg_hmap_entry *e = a->entry;
  if (!e || a->map != map)
    return false;
  struct part *part = part_of(map, e->hash);
  pthread_mutex_lock(&part->mutex);
  bool was_there = !e->gone;
  if (was_there) {
    struct mg_hmap_entry **at = slot_of(part, e->hash);
    while (*at != e)
      at = &(*at)->next;
    take_out(part, at);
  }
  pthread_mutex_unlock(&part->mutex);
  mg_hmap_release(a);
  return was_there;
}

/* Remove what is below the threshold, or all. */
static uint32_t remove_below(struct mg_hmap *map, struct part *part, uint64_t threshold,
                             bool all)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < part->nslots; i++) {
    struct mg_hmap_entry **at = &part->slots[i];
    while (*at)
      if (all || (!(*at)->held && (*at)->data[map->value_at] < threshold)) {
        take_out(part, at);
        n++;
      } else {
        at = &(*at)->next;
      }
  }
  return n;
}

uint32_t mg_hmap_clean(struct mg_hmap *map, uint64_t threshold)
{
  uint32_t n = 0;
  for (int i = 0; i < PARTS; i++) {
    pthread_mutex_lock(&map->parts[i].mutex);
    n += remove_below(map, &map->parts[i], threshold, false);
    pthread_mutex_unlock(&map->parts[i].mutex);
  }
  return n;
}

void mg_hmap_clear(struct mg_hmap *map)
{
  for (int i = 0; i < PARTS; i++) {
    pthread_mutex_lock(&map->parts[i].mutex);
    remove_below(map, &map->parts[i], 0, true);
    pthread_mutex_unlock(&map->parts[i].mutex);
  }
}

uint64_t mg_hmap_count(struct mg_hmap *map)
{
  uint64_t n = 0;
  for (int i = 0; i < PARTS; i++)
    n += __atomic_load_n(&map->parts[i].count, __ATOMIC_RELAXED);
  return n;
}

void mg_hmap_free(struct mg_hmap *map)
{
  for (int i = 0; i < PARTS && map->parts[i].slots; i++) {
    remove_below(map, &map->parts[i], 0, true);
    free(map->parts[i].slots);
    pthread_mutex_destroy(&map->parts[i].mutex);
  }
  free(map);
}
