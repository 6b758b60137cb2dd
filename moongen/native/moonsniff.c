/* SPDX-License-Identifier: Apache-2.0
 *
 * What MoonSniff's scripts call. Means and variances by Welford's method, which needs
 * one look at each value (Technometrics 4, 1962).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "moonsniff.h"

/* Of values seen one by one. */
struct moments {
  uint64_t count;
  double mean, squares;
};

static void see(struct moments *m, double value)
{
  double before = value - m->mean;
  m->count++;
  m->mean += before / m->count;
  m->squares += before * (value - m->mean);
}

static double variance(const struct moments *m)
{
  return m->count > 1 ? m->squares / (m->count - 1) : 0;
}

/* Packets seen before the device, by the low bits of their numbers. ------------- */

enum { ENTRIES = 1 << 20 };

struct entry {
  uint64_t time;             /* 0: none */
  uint32_t number;
};

static int32_t lock;         /* of all that follows */
static struct entry *entries;
static struct moments latencies;
static struct ms_stats counts;
static int64_t least;

static struct entry *entry_of(uint32_t number)
{
  if (!entries)
    entries = calloc(ENTRIES, sizeof *entries);
  return entries ? &entries[number % ENTRIES] : NULL;
}

void ms_set_thresh(int64_t thresh) { least = thresh; }

void ms_add_entry(uint32_t identification, uint64_t timestamp)
{
  pg_spin_lock(&lock);
  struct entry *e = entry_of(identification);
  if (e)
    *e = (struct entry){.time = timestamp, .number = identification};
  pg_spin_unlock(&lock);
}

void ms_test_for(uint32_t identification, uint64_t timestamp)
{
  pg_spin_lock(&lock);
  struct entry *e = entry_of(identification);
  if (!e || e->time == 0 || e->number != identification) {
    counts.misses++;
  } else {
    int64_t latency = timestamp - e->time;
    e->time = 0;
    counts.hits++;
    if (latency < least)
      counts.inval_ts++;
    else
      see(&latencies, latency);
  }
  pg_spin_unlock(&lock);
}

struct ms_stats ms_fetch_stats()
{
  counts.average_latency = latencies.mean;
  counts.variance_latency = variance(&latencies);
  return counts;
}

/* What was written to the file is lost: the script's exit status tells. */
static void tell_lost(const char *filename, int error)
{
  char text[512];
  snprintf(text, sizeof text, "can't write %s: %s", filename, strerror(error));
  mg_fail(text);
}

/* Close a file; `error` is that of a write before, or 0. */
static void close_file(FILE *file, const char *filename, int error)
{
  if (fclose(file) != 0 && !error)
    error = errno;
  if (error)
    tell_lost(filename, error);
}

/* 0, or the error of a file that can't be written. */
static int log_packet(FILE *file, const struct packet *p, uint32_t offset)
{
  uint64_t time = p->note64[1] * (1e9 / pg_tsc_hz_measured());
  uint32_t number;
  if ((uint64_t)offset + sizeof number > p->length)
    return 0;
  memcpy(&number, p->buf_addr + p->data_off + offset, sizeof number);
  bool written = fwrite(&time, sizeof time, 1, file) == 1 &&
                 fwrite(&number, sizeof number, 1, file) == 1;
  return written ? 0 : errno;
}

void ms_log_pkts(uint8_t port_id, uint16_t queue_id, struct packet **rx_pkts,
                 uint16_t nb_pkts, uint32_t seqnum_offset, const char *filename)
{
  FILE *file = fopen(filename, "a");
  int error = 0;
  if (!file) {
    tell_lost(filename, errno);
    return;
  }
  for (uint32_t idle = 1; !error && mg_running(0); idle++) {
    int32_t n = mg_receive_by_number(port_id, queue_id, rx_pkts, nb_pkts);
    for (int32_t i = 0; i < n && !error; i++)
      error = log_packet(file, rx_pkts[i], seqnum_offset);
    mg_free(rx_pkts, n);
    if (n > 0)
      idle = 0;
    else
      mg_idle(idle);
  }
  close_file(file, filename, error);
}

/* The histogram: buckets by value, in a table that grows. ---------------------- */

static struct {
  int64_t width;
  struct moments moments;
  int64_t *values;           /* the middles of its buckets, in order */
  uint32_t *found;           /* how many values each has */
  uint32_t n, room;
} histogram;

void hs_initialize(uint32_t bucket_size)
{
  hs_destroy();
  histogram.width = bucket_size > 0 ? bucket_size : 1;
}

void hs_destroy()
{
  free(histogram.values);
  free(histogram.found);
  memset(&histogram, 0, sizeof histogram);
}

static int64_t middle(int64_t value)
{
  int64_t half = value > 0 ? histogram.width / 2 : -(histogram.width / 2);
  return (value + half) / histogram.width * histogram.width;
}

static uint32_t place_of(int64_t value)
{
  uint32_t from = 0, to = histogram.n;
  while (from < to) {
    uint32_t half = (from + to) / 2;
    if (histogram.values[half] < value)
      from = half + 1;
    else
      to = half;
  }
  return from;
}

static bool grow(void)
{
  uint32_t room = histogram.room ? 2 * histogram.room : 1024;
  int64_t *values = realloc(histogram.values, room * sizeof *values);
  if (values)
    histogram.values = values;
  uint32_t *found = realloc(histogram.found, room * sizeof *found);
  if (found)
    histogram.found = found;
  if (values && found)
    histogram.room = room;
  return values && found;
}

bool hs_update(int64_t new_val)
{
  int64_t value = middle(new_val);
  see(&histogram.moments, new_val);
  uint32_t at = place_of(value);
  if (at == histogram.n || histogram.values[at] != value) {
    if (histogram.n == histogram.room && !grow())
      return false;
    uint32_t behind = histogram.n++ - at;
    memmove(histogram.values + at + 1, histogram.values + at,
            behind * sizeof *histogram.values);
    memmove(histogram.found + at + 1, histogram.found + at,
            behind * sizeof *histogram.found);
    histogram.values[at] = value;
    histogram.found[at] = 0;
  }
  histogram.found[at]++;
  return new_val >= 0;
}

void hs_finalize() {}

void hs_write(const char *filename)
{
  FILE *file = fopen(filename, "w");
  int error = 0;
  if (!file) {
    tell_lost(filename, errno);
    return;
  }
  for (uint32_t i = 0; i < histogram.n && !error; i++)
    if (fprintf(file, "%ld,%u\n", (long)histogram.values[i], histogram.found[i]) < 0)
      error = errno;
  close_file(file, filename, error);
}

uint64_t hs_getCount() { return histogram.moments.count; }

double hs_getMean() { return histogram.moments.mean; }

double hs_getVariance() { return variance(&histogram.moments); }
