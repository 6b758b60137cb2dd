/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of records that outlive the process (README.md): their layout, which is an ABI.
 * A change of it has another KEEP_VERSION. Plain declarations: LuaJIT reads this file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../net/flow/flow.h"

enum { KEEP_VERSION = 1, KEEP_HEADER = 4096, KEEP_NOTES = 1 << 20 };
enum { KEEP_PER_SECOND = 1000 };

/* At the front of a file; behind it the notes, the bits that say which records are in
 * use, and the records, from number 0 (which isn't used) on. How many there is room for
 * now, the file's size tells. All in the host's order of bytes. */
struct keep_header {
  char magic[8];             /* "PERIGEE" */
  uint32_t version, header_size;
  uint32_t record_size;      /* bytes of a record, and where its struct flow_age is */
  uint32_t age_at;
  uint64_t most;             /* records that there may ever be */
  uint64_t notes_at, bits_at, records_at;
  char boot[40];             /* the machine's, whose CLOCK_MONOTONIC ages are by */
  char release[24];          /* of Perigee, for people */
  char of[256];              /* whose records these are */
  char layout[256];          /* what a record is */
  uint64_t sum;              /* of all before this */
  uint64_t notes_size;       /* bytes of notes that are written */
  uint64_t per_second;       /* units of an expiry in a second; 0: KEEP_PER_SECOND */
};

/* A file that has been looked at. */
struct keep_file {
  struct keep_header header;
  uint64_t size, inode;      /* bytes; whose it is, of the file system */
  uint32_t top;              /* numbers of records are below this */
  char problem[160];         /* why it isn't used, behind "it ..." */
};

/* Copies of a file's records that are in use, the one that goes first in front. */
struct keep_records {
  uint8_t *record;
  uint32_t n, size;
};

/* What became of a record that a table was to go on with. */
enum keep_outcome { KEEP_USED, KEEP_OLD, KEEP_TWICE, KEEP_FULL, KEEP_BAD };

void pg_keep_set_sum(struct keep_header *h);
bool pg_keep_look(int fd, struct keep_file *f);
int64_t pg_keep_notes(int fd, const struct keep_file *f, char *text, uint64_t room);
bool pg_keep_read(int fd, struct keep_file *f, uint32_t most, struct keep_records *found);
void pg_keep_free(struct keep_records *found);
bool pg_keep_begin(int fd, struct keep_header *h, struct flow_records *r,
                   const char *notes, uint64_t notes_size);
int64_t pg_keep_expiry(const void *record, uint32_t age_at);

/* restore.c */
uint32_t pg_keep_restore(struct flow_table *t, const void *record, int64_t now,
                         uint32_t *number);
