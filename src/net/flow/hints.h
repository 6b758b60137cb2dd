/* SPDX-License-Identifier: Apache-2.0
 *
 * Where records of a kept table are by their keys, in a file: for the process that goes
 * on with them (net/keep), which finds a record before it has an index of its own. Only
 * hints: who reads one looks at the record, and compares its key.
 */
#pragma once

#include "flow.h"

/* Of each pair of lines twenty entries have a part of a hash and a number as in an
 * index; 0: none. Levels of lines follow each other, each with twice as many as the one
 * before, and entries stay where they are. */
enum {
  HINT_PLACES = 10, HINT_FIRST = 1024, HINT_LEVELS = 20, HINT_HEADER = 4096,
  HINT_VERSION = 1
};
struct flow_hint_line {
  uint16_t tag[HINT_PLACES];
  uint32_t number[HINT_PLACES], unused;
};

/* At the front of the file; the lines are behind a page. */
struct flow_hint_header {
  char magic[8];             /* "PGHINTS" */
  uint32_t version, size;    /* of this header */
  uint64_t inode;            /* of the file with the records */
  uint32_t key_at, key_size, keys, levels; /* levels that there may be */
  uint64_t secret[17];
  uint64_t complete;         /* 1: each record in use has one; else some may have none */
};

struct flow_hints {
  struct flow_memory memory, slot_memory;
  struct flow_hint_header *header;
  struct flow_hint_line *line;
  uint32_t *slot;            /* of a number: 1 + its line * HINT_PLACES + its place */
  uint32_t levels, users, count[HINT_LEVELS]; /* levels in use; entries of each */
};

/* Lines of a level, and before it. */
static inline uint32_t hint_lines(uint32_t level) { return HINT_FIRST << level; }
static inline uint32_t hint_first(uint32_t level)
{
  return hint_lines(level) - HINT_FIRST;
}

/* The first of the two lines of a level where entries with the hash are. */
static inline uint32_t hint_line(uint32_t level, uint32_t hash)
{
  return hint_first(level) + (hash & (hint_lines(level) - 1) & ~1u);
}

static inline uint16_t hint_tag(uint32_t hash) { return (uint16_t)(hash >> 16); }

void pg_flow_hints_put(struct flow_hints *h, uint32_t hash, uint32_t number);
void pg_flow_hints_take(struct flow_hints *h, uint32_t number);
void pg_flow_hints_leave(struct flow_index *x);
