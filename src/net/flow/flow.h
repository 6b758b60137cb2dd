/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of flows: fixed records found by their keys (README.md). Plain declarations,
 * as in native/api.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Address space of an array that grows in its place: `usable` bytes of it from `at` on
 * may be used, up to `asked` another thread touches it. What is kept (net/keep) is a
 * file's from `begin` on, whose descriptor is `file` - 1; 0: none. */
struct flow_memory {
  uint8_t *at;
  uint64_t reserved, usable, asked, begin;
  int32_t file;
};

/* Where keys are found: a cache line of hashes (0: an empty place) and of what they stand
 * for. The last place has none, and its number is that of the line which goes on. */
enum { FLOW_PLACES = 7 };
struct flow_line { uint32_t hash[8], number[8]; };

/* When a record goes, and where it is in the list of those with its timeout. A record
 * that ages has one, at a multiple of 8 bytes. `note` is the user's. */
struct flow_age {
  uint32_t older, newer;     /* in the list; 0: none */
  int64_t expiry;            /* in the user's units */
  uint32_t queued;           /* the expiry by which it is in its list; its lower half */
  uint8_t list, note[3];
};
struct flow_list { uint32_t oldest, newest; int64_t timeout; };

/* Records by number, from 1 on. They stay at their addresses. */
struct flow_records {
  uint8_t *record;           /* of number 0, which isn't used */
  uint64_t *in_use;          /* a bit for each */
  uint32_t size;             /* bytes of one */
  uint32_t age_at;           /* where in it its age is */
  uint32_t count, top, spare, most; /* top: the first that was never used */
  struct flow_memory memory, bits;
};

/* Whom a look-up asks for a key that an index hasn't (net/keep): records of a process
 * that has ended. recall() puts the record into the table, if it is there and right; its
 * number in the index, or 0. */
struct flow_index;
struct flow_former {
  uint32_t (*recall)(struct flow_former *former, struct flow_index *x, const void *key);
  bool forget;               /* the table has been cleared: so are they */
};
struct flow_hints;

/* Numbers by key. Of keys of a record there are 1 or 2, one behind the other; a number
 * is the record's, or twice that and which key it is. */
struct flow_index {
  struct flow_line *line, *more; /* by hash; those that go on, from 1 */
  struct flow_records *records;
  uint32_t lines, mask;      /* mask: of the power of two that is more than half of them */
  uint32_t key_at, key_size, key_shift;
  uint32_t entries, more_top, more_spare, most_lines;
  uint64_t secret[17];       /* a word, and one for each 4 bytes of the largest key */
  struct flow_memory memory, overflow;
  struct flow_former *former; /* or NULL */
  struct flow_hints *hints;  /* for the next process (hints.h), or NULL */
};

enum { FLOW_LISTS_MOST = 8, FLOW_KEY_MOST = 64, FLOW_NO_AGE = 0xffffffff };
enum { FLOW_MOST = 1 << 27 };
enum { FLOW_REFUSE, FLOW_EVICT };
struct flow_table {
  struct flow_records records;
  struct flow_index index;
  struct flow_list list[8];
  uint64_t refused, evicted; /* for want of room */
  uint32_t limit;            /* of records */
  uint32_t lists;            /* in use; 0: nothing ages */
  uint8_t policy, added;     /* added: was the last record new? */
  uint8_t note[3];           /* of a new record's age */
};

/* memory.c */
bool pg_flow_memory_reserve(struct flow_memory *m, uint64_t bytes);
bool pg_flow_memory_reserve_for(struct flow_memory *m, uint64_t bytes, uint64_t begin);
bool pg_flow_memory_extend(struct flow_memory *m, uint64_t bytes);
void pg_flow_memory_prepare(struct flow_memory *m, uint64_t bytes);
void pg_flow_memory_free(struct flow_memory *m);
bool pg_flow_memory_share(struct flow_memory *m, uint64_t bytes, int32_t file,
                          uint64_t begin);

/* ahead.c: large pages of files that another thread was asked for, and what became of
 * them: of `late` ones the file had small pages, or no room. `error`: why the kernel has
 * made none. `no_room`: why a file couldn't be extended when it was last tried, or 0. */
struct flow_fills { uint32_t asked, large, late, failed, error, no_room; };
struct flow_fills pg_flow_fills(void);

/* records.c */
enum { FLOW_FILE_BITS = 4096 + (1 << 20) }; /* where a file's bits are (net/keep) */
uint64_t pg_flow_records_begin(uint64_t bits, uint64_t most);
bool pg_flow_records_open(struct flow_records *r, uint32_t size, uint32_t age_at,
                          uint32_t most);
void pg_flow_records_close(struct flow_records *r);
uint32_t pg_flow_records_take(struct flow_records *r);
void pg_flow_records_complete(struct flow_records *r, uint32_t number);
bool pg_flow_records_share(struct flow_records *r, int32_t file, uint64_t bits,
                           uint64_t records);
void pg_flow_records_give(struct flow_records *r, uint32_t number);
uint32_t pg_flow_records_next(const struct flow_records *r, uint32_t number);
void pg_flow_link(struct flow_records *r, struct flow_list *list, uint32_t number,
                  int64_t expiry);
void pg_flow_link_end(struct flow_records *r, struct flow_list *list, uint32_t number,
                      int64_t expiry);
void pg_flow_unlink(struct flow_records *r, struct flow_list *list, uint32_t number);

/* index.c */
bool pg_flow_index_open(struct flow_index *x, struct flow_records *records,
                        uint32_t key_at, uint32_t key_size, uint32_t keys,
                        uint32_t most, uint64_t seed);
void pg_flow_index_close(struct flow_index *x);
bool pg_flow_index_prepare(struct flow_index *x);
void pg_flow_index_reserve(struct flow_index *x, uint32_t entries);
uint32_t pg_flow_index_hash(const struct flow_index *x, const void *key);
uint32_t pg_flow_index_find(const struct flow_index *x, const void *key, uint32_t hash);
void pg_flow_index_put(struct flow_index *x, uint32_t hash, uint32_t number);
bool pg_flow_index_take(struct flow_index *x, uint32_t hash, uint32_t number);
void pg_flow_index_find_many(const struct flow_index *x, const void *keys,
                             uint32_t stride, uint32_t n, uint32_t *numbers);
uint32_t pg_flow_index_recall(const struct flow_index *x, const void *key);

/* hints.c */
struct flow_hints *pg_flow_hints_new(int32_t file, uint64_t inode,
                                     const struct flow_index *x);
void pg_flow_hints_free(struct flow_hints *h);
void pg_flow_hints_attach(struct flow_hints *h, struct flow_index *x);

/* table.c */
uint64_t pg_flow_table_bytes(uint32_t size, uint32_t limit);
struct flow_table *pg_flow_table_new(uint32_t size, uint32_t key_size, uint32_t age_at,
                                     uint32_t limit, uint8_t policy, uint64_t seed);
void pg_flow_table_free(struct flow_table *t);
void pg_flow_table_reserve(struct flow_table *t, uint32_t n);
uint64_t pg_flow_table_in_use(const struct flow_table *t);
uint32_t pg_flow_table_find(const struct flow_table *t, const void *key);
void pg_flow_table_find_many(const struct flow_table *t, const void *keys,
                             uint32_t stride, uint32_t n, uint32_t *numbers);
uint32_t pg_flow_table_add(struct flow_table *t, const void *key, uint32_t list,
                           int64_t now);
void pg_flow_table_remove(struct flow_table *t, uint32_t number);
void pg_flow_table_touch(struct flow_table *t, uint32_t number, uint32_t list,
                         int64_t now);
uint32_t pg_flow_table_oldest(const struct flow_table *t);
uint32_t pg_flow_table_victim(struct flow_table *t, int64_t now);
uint32_t pg_flow_table_expired(const struct flow_table *t, int64_t now);
uint32_t pg_flow_table_next(const struct flow_table *t, uint32_t number);
void pg_flow_table_clear(struct flow_table *t);
