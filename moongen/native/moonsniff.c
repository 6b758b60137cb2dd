/* SPDX-License-Identifier: Apache-2.0
 *
 * What MoonSniff's tasks share. Means and variances by Welford's method, which needs
 * one look at each value (Technometrics 4, 1962).
 */
#include <stdlib.h>

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
