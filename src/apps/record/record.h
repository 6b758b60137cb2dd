/* SPDX-License-Identifier: Apache-2.0
 *
 * What apps.record shares with its kernel (record.c); plain declarations, as in
 * src/native/api.h. Times are in nanoseconds since 1970.
 */
#pragma once

#include <stdint.h>

struct filter;
struct link;

enum { RECORD_INPUTS = 16, RECORD_JOBS = 16 };

/* The packets of a window of time, while they are written. */
struct record_job {
  uint64_t trigger, from, to;
  uint64_t cursor;           /* the next block */
  uint64_t oldest;           /* time of the oldest packet at the trigger; 0: none */
  uint64_t first, last;      /* times of the first and last packet taken */
  uint64_t taken[16];        /* by input */
  uint64_t overwritten[16];  /* before they were taken */
  uint8_t in_use, complete, by_filter;
};

/* Enhanced packet blocks of pcapng, one behind the other. `head` and `tail` count bytes:
 * ever written, and overwritten. */
struct record {
  uint8_t *at;
  uint64_t size, head, tail, head_at, tail_at;
  uint64_t newest;           /* time of the last burst */
  uint64_t packets, bytes, overwritten;
  const struct filter *filter;
  uint64_t before, after;    /* the window around a packet that it accepts */
  uint64_t until;            /* the end of the window that was begun last */
  uint64_t matches, within, refused; /* within: of a window that was open */
  uint32_t snaplen, jobs, most_jobs;
  struct record_job job[16];
};

struct record *pg_record_new(uint64_t size, uint32_t snaplen);
void pg_record_free(struct record *r);
void pg_record_take(struct record *r, const struct link *l, uint32_t n, uint32_t input);
struct record_job *pg_record_begin(struct record *r, uint64_t before, uint64_t after);
const uint8_t *pg_record_next(struct record *r, struct record_job *job, uint32_t most);
void pg_record_end(struct record *r, struct record_job *job);
uint64_t pg_record_oldest(const struct record *r);
