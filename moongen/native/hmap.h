/* SPDX-License-Identifier: Apache-2.0
 *
 * Hash maps that tasks share, for moongen/tables/hmap.lua: keys and values of fixed sizes.
 * Plain declarations, which LuaJIT reads too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mg_hmap;
struct mg_hmap_entry;

/* One thread's hold on one entry, which others wait for. */
struct mg_hmap_accessor {
  struct mg_hmap *map;
  struct mg_hmap_entry *entry; /* NULL: it holds none */
};

/* NULL: no memory. */
struct mg_hmap *mg_hmap_new(uint32_t key_size, uint32_t value_size);

/* Nobody may use it any more. */
void mg_hmap_free(struct mg_hmap *);

enum mg_hmap_result { MG_HMAP_NO_MEMORY = -1, MG_HMAP_NONE, MG_HMAP_FOUND, MG_HMAP_ADDED };

/* Hold the key's entry, after letting go of what the accessor held. With `add`, one of
 * zeros is made if there is none. An enum mg_hmap_result. */
int32_t mg_hmap_hold(struct mg_hmap *, struct mg_hmap_accessor *, const void *key, bool add);

void mg_hmap_release(struct mg_hmap_accessor *);

/* The value that is held, at a multiple of 8; NULL if none is. */
uint8_t *mg_hmap_value(struct mg_hmap_accessor *);

/* Remove what is held. False if nothing is, or if it has gone already. */
bool mg_hmap_erase(struct mg_hmap *, struct mg_hmap_accessor *);

/* Remove all that nobody holds and whose value begins with a number (uint64_t) below
 * the threshold: how many. */
uint32_t mg_hmap_clean(struct mg_hmap *, uint64_t threshold);

/* Remove all. What is held goes when it is let go. */
void mg_hmap_clear(struct mg_hmap *);

/* How many entries there are. */
uint64_t mg_hmap_count(struct mg_hmap *);
