/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a process that has ended, while the next one goes on with them
 * (README.md). Plain declarations: LuaJIT reads this file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../net/flow/flow.h"
#include "../../net/keep/keep.h"

/* Puts a copy of a record into the table that `context` is of, after it has checked it. An
 * outcome below FORMER_OUTCOMES; 0: it is used. */
typedef uint32_t (*keep_restore)(void *context, const void *record, int64_t now);

/* Does a copy of a record come to this copy of the table (net.keep.family)? */
typedef bool (*keep_own)(void *context, const void *record);

/* Looks at a record of a file before any is restored. */
typedef void (*keep_see)(void *context, const void *record);

enum { FORMER_OUTCOMES = 16, FORMER_BUCKETS = 512, FORMER_INDEXES = 256 };

/* They are asked for by key, or one after the other, those that go last before others. One
 * that has been asked for isn't there any more. */
struct keep_former {
  struct flow_former ask;    /* by an index; the first member */
  struct keep_former *next;  /* the one before it; NULL: none */
  bool busy, done, oldest_first; /* the last: those that go first come first */
  uint8_t *map, *hints;      /* the files; hints: NULL if there are none */
  uint64_t map_size, hints_size, map_left, hints_left;
  const uint8_t *record;
  uint64_t *in_use;
  uint8_t *copy;             /* of the record that was asked for last */
  uint32_t size, age_at, top;
  uint32_t last;             /* that Lua restores */
  uint32_t at, bucket;       /* how far the sweep is: numbers, and then buckets */
  uint32_t *chain, head[512]; /* numbers, by when they go */
  keep_restore restore;      /* NULL: Lua does it */
  keep_own own;              /* of another copy's; NULL: all records come here */
  void *context;
  int64_t now;
  uint64_t outcome[16];      /* records by outcome */
  struct flow_index *index[256]; /* that ask */
  uint32_t indexes;
  int32_t file, hints_file;  /* -1: none */
};

struct keep_into { struct flow_table *table; }; /* the context of pg_keep_restore_into */

struct keep_former *pg_keep_former(int fd, const struct keep_file *f, bool consume);
bool pg_keep_former_hints(struct keep_former *f, int fd, uint64_t inode);
void pg_keep_former_ask(struct keep_former *f, struct flow_index *x);
void pg_keep_former_leave(struct keep_former *f);
bool pg_keep_former_shrink(struct keep_former *f);
void pg_keep_former_close(struct keep_former *f);
uint64_t pg_keep_former_count(const struct keep_former *f);
void pg_keep_former_see(const struct keep_former *f, keep_see see, void *context);
const void *pg_keep_former_next(struct keep_former *f, uint32_t most);
bool pg_keep_former_step(struct keep_former *f, int64_t now, uint32_t most);
uint32_t pg_keep_restore_into(void *context, const void *record, int64_t now);
