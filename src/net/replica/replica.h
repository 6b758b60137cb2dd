/* SPDX-License-Identifier: Apache-2.0
 *
 * Kept records (net/keep) on another host: what has changed in a file is found by
 * comparing it with what the other host has, and is applied there (README.md). Plain
 * declarations: LuaJIT reads this file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../net/flow/flow.h"
#include "../../net/keep/keep.h"

/* What an entry of a batch says of a record: the two highest bits of its first word,
 * of which the rest is the record's number. Behind it are REPLICA_RECORD: the record;
 * REPLICA_AGE: its expiry alone, an int64_t; REPLICA_REMOVED: nothing. */
enum { REPLICA_RECORD = 0, REPLICA_REMOVED = 1, REPLICA_AGE = 2, REPLICA_KIND = 30 };

/* Where in a record its keys are, one behind the other: hints say where records are by them
 * (net/flow/hints.h). n is 0 where there are no hints. */
struct replica_keys { uint32_t at, size, n; };

/* A file that is sent: what the other host has of it. */
struct replica_source {
  int32_t fd;
  uint32_t size, age_at;     /* of a record */
  uint32_t at, top;          /* the sweep: next number, and the first behind all */
  uint32_t room;             /* bytes that an entry may need */
  int64_t per_second;        /* units of expiries */
  uint64_t most, bits_at, records_at;
  uint64_t *has;             /* a bit for each record that the other host has */
  uint8_t *copy;             /* these records */
  uint8_t *chunk, *again;    /* what has been read of the file, twice */
  uint64_t *bits, *still;    /* and which records were in use then */
  uint64_t there;            /* how many records the other host has */
  uint64_t records, ages, removed, unsteady; /* entries of each kind; put off */
};

bool pg_replica_open(struct replica_source *s, int fd, const struct keep_file *f,
                     int64_t per_second);
void pg_replica_close(struct replica_source *s);
bool pg_replica_begin(struct replica_source *s);
struct replica_keys pg_replica_keys(int fd);
int64_t pg_replica_sweep(struct replica_source *s, int64_t now, uint8_t *to,
                         uint64_t room);

/* A file that is written here, and hints about it. */
struct flow_hints;
struct replica_target {
  struct flow_records records;
  int32_t open;
  struct replica_keys keys;
  struct flow_hints *hints;  /* NULL: none */
  uint64_t limit;            /* bytes of records, and of hints, at most */
  uint64_t there;            /* records in use */
  uint64_t applied;          /* entries */
  char problem[160];         /* what the other host says that can't be, behind "it ..." */
};

bool pg_replica_target_open(struct replica_target *t, int fd, struct keep_header *h,
                            uint32_t size, uint32_t age_at, uint64_t most,
                            const char *notes, uint64_t notes_size);
bool pg_replica_target_hints(struct replica_target *t, int fd, uint64_t inode,
                             struct replica_keys keys);
uint64_t pg_replica_target_bytes(const struct replica_target *t);
void pg_replica_target_close(struct replica_target *t);
bool pg_replica_apply(struct replica_target *t, const uint8_t *entries, uint64_t bytes,
                      int64_t shift);
void pg_replica_sums(const struct keep_records *before, uint32_t age_at, uint64_t *sums);
uint32_t pg_replica_without(const uint64_t *before, uint32_t n,
                            const struct replica_target *const *targets, uint32_t files);
