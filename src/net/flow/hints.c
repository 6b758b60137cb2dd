/* SPDX-License-Identifier: Apache-2.0
 *
 * Hints are written when a key comes or goes, and never read here. An entry is there by
 * one store, so that it is complete whenever the process is killed. A level that is half
 * full makes room for the next one, step by step.
 */
#include <stdlib.h>

#include "find.h"
#include "hints.h"

enum { PER_LINE = HINT_PLACES / 2, LINE = sizeof(struct flow_hint_line) };
static const char MAGIC[8] = "PGHINTS";
_Static_assert(sizeof(struct flow_hint_line) == 64, "a cache line");
_Static_assert(sizeof(struct flow_hint_header) <= HINT_HEADER, "a page");

static uint32_t room_of(uint32_t level) { return hint_lines(level) * PER_LINE; }

static uint32_t levels_for(uint64_t entries)
{
  uint32_t levels = 1;
  while (levels < HINT_LEVELS && (uint64_t)hint_first(levels) * PER_LINE < entries)
    levels++;
  return levels;
}

static uint64_t end_of(uint32_t level) /* in bytes */
{
  return HINT_HEADER + (uint64_t)hint_first(level + 1) * LINE;
}

/* Hints about the keys of that index, and of others of the same records, with the same
 * secret, in an empty file. `inode`: of the file with the records. NULL, with errno. */
struct flow_hints *pg_flow_hints_new(int32_t file, uint64_t inode,
                                     const struct flow_index *x)
{
  struct flow_hints *h = calloc(1, sizeof *h);
  if (!h)
    return NULL;
  uint64_t entries = ((uint64_t)x->records->most + 1) << x->key_shift;
  uint32_t levels = levels_for(entries);
  if (!pg_flow_memory_reserve(&h->memory, end_of(levels - 1)) ||
      !pg_flow_memory_reserve(&h->slot_memory, entries * sizeof *h->slot)) {
    pg_flow_hints_free(h);
    return NULL;
  }
  struct flow_hint_header *header = (struct flow_hint_header *)h->memory.at;
  *header = (struct flow_hint_header){
    .version = HINT_VERSION, .size = sizeof *header, .inode = inode, .key_at = x->key_at,
    .key_size = x->key_size, .keys = x->key_shift + 1, .levels = levels, .complete = 1};
  memcpy(header->magic, MAGIC, sizeof MAGIC);
  memcpy(header->secret, x->secret, sizeof header->secret);
  if (!pg_flow_memory_share(&h->memory, HINT_HEADER, file, 0)) {
    pg_flow_hints_free(h);
    return NULL;
  }
  h->header = header;
  h->line = (struct flow_hint_line *)(h->memory.at + HINT_HEADER);
  h->slot = (uint32_t *)h->slot_memory.at;
  return h;
}

void pg_flow_hints_free(struct flow_hints *h)
{
  pg_flow_memory_free(&h->memory);
  pg_flow_memory_free(&h->slot_memory);
  free(h);
}

/* Entries -------------------------------------------------------------------------- */

static bool open_level(struct flow_hints *h)
{
  if (h->levels == h->header->levels ||
      !pg_flow_memory_extend(&h->memory, end_of(h->levels)))
    return false;
  h->levels++;
  return true;
}

/* As much of the next level as of the last one is in use: no put waits for all. */
static void prepare_next(struct flow_hints *h)
{
  uint32_t last = h->levels - 1;
  if (h->levels == h->header->levels)
    return;
  uint64_t next = (uint64_t)hint_lines(h->levels) * LINE;
  pg_flow_memory_extend(&h->memory,
                        end_of(last) + next / room_of(last) * h->count[last]);
}

static bool put_in(struct flow_hints *h, uint32_t level, uint32_t hash, uint32_t number)
{
  uint32_t first = hint_line(level, hash);
  for (uint32_t i = first; i < first + 2; i++) {
    struct flow_hint_line *line = &h->line[i];
    for (uint32_t place = 0; place < HINT_PLACES; place++) {
      if (line->number[place])
        continue;
      line->tag[place] = hint_tag(hash);
      __atomic_store_n(&line->number[place], number, __ATOMIC_RELEASE);
      h->slot[number] = 1 + i * HINT_PLACES + place;
      h->count[level]++;
      return true;
    }
  }
  return false;
}

void pg_flow_hints_put(struct flow_hints *h, uint32_t hash, uint32_t number)
{
  if (pg_flow_memory_extend(&h->slot_memory, ((uint64_t)number + 1) * sizeof *h->slot)) {
    for (uint32_t level = h->levels; level-- > 0;)
      if (h->count[level] < room_of(level) && put_in(h, level, hash, number)) {
        prepare_next(h);
        return;
      }
    if (open_level(h) && put_in(h, h->levels - 1, hash, number))
      return;
  }
  h->header->complete = 0;
}

void pg_flow_hints_take(struct flow_hints *h, uint32_t number)
{
  uint64_t at = (uint64_t)number * sizeof *h->slot;
  if (at + sizeof *h->slot > h->slot_memory.usable || !h->slot[number])
    return;
  uint32_t slot = h->slot[number] - 1, line = slot / HINT_PLACES, level = 0;
  while (line >= hint_first(level + 1))
    level++;
  h->line[line].number[slot % HINT_PLACES] = 0;
  h->slot[number] = 0;
  h->count[level]--;
}

/* Whose keys ------------------------------------------------------------------------ */

/* The index has these hints from now on, about what it has, too. */
void pg_flow_hints_attach(struct flow_hints *h, struct flow_index *x)
{
  pg_flow_hints_leave(x);
  h->users++;
  x->hints = h;
  for (uint32_t i = 0; i < x->lines; i++)
    for (const struct flow_line *line = &x->line[i];;) {
      for (int place = 0; place < FLOW_PLACES; place++)
        if (line->hash[place])
          pg_flow_hints_put(h, line->hash[place], line->number[place]);
      if (!line->number[FLOW_PLACES])
        break;
      line = &x->more[line->number[FLOW_PLACES]];
    }
}

/* The index has none any more. */
void pg_flow_hints_leave(struct flow_index *x)
{
  if (x->hints && --x->hints->users == 0)
    pg_flow_hints_free(x->hints);
  x->hints = NULL;
}
