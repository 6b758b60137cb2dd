/* SPDX-License-Identifier: Apache-2.0
 *
 * A sample of a breath: what each call of it took, in TSC cycles, without what its
 * ports' functions took, which is counted separately (io_cycles.h). A sample during which
 * the thread was taken off the CPU counts for nothing.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <rte_cycles.h>

#include "../api.h"
#include "internal.h"

static int64_t switches(void)
{
  struct rusage r;
  if (getrusage(RUSAGE_THREAD, &r) != 0)
    return 0;
  return r.ru_nivcsw;
}

/* What one reading of the counter takes as used here: the least of many. */
uint64_t pg_cycles_reading(void)
{
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 256; i++) {
    uint64_t t = rte_rdtsc(), n = rte_rdtsc() - t;
    least = n < least ? n : least;
  }
  return least;
}

/* Begin a sample of the breath that comes, of so many calls. */
void pg_cycles_begin(struct cycles *c, struct freelist *account, int32_t calls)
{
  memset(c->spent, 0, calls * sizeof *c->spent);
  c->receive = c->empty = c->send = c->inside = 0;
  c->switches = switches();
  account->sample = c;
  c->began = c->last = rte_rdtsc();
}

/* Call number `i` of the breath is over, maybe not for the first time. */
void pg_cycles_mark(struct cycles *c, int32_t i)
{
  uint64_t now = rte_rdtsc(), spent = now - c->last;
  uint64_t apart = c->inside + c->reading;
  c->spent[i] += spent > apart ? spent - apart : 0;
  c->inside = 0;
  c->last = rte_rdtsc();
}

/* The calls are over; what follows, up to pg_cycles_end, is the engine's own. */
void pg_cycles_pause(struct cycles *c, struct freelist *account)
{
  account->sample = 0;
  c->slept_before = pg_slept_cycles;
  c->last = rte_rdtsc();
}

/* Breaths until the next sample: so many that samples take about COST of the time,
 * and not at a steady pace, which the traffic might keep too. */
static int32_t distance(struct cycles *c, int32_t calls)
{
  enum { SYSCALLS = 1500, A_CALL = 50, LEAST = 8, MOST = 8192 };
  const double COST = 0.001;
  double n = (SYSCALLS + A_CALL * calls) / (COST * (c->average + 1));
  n = n < LEAST ? LEAST : n > MOST ? MOST : n;
  c->dice = c->dice * 6364136223846793005 + 1442695040888963407;
  return n / 2 + (c->dice >> 33) % (uint64_t)n;
}

/* What the engine itself took; what it takes as a rule, if that is MOST times as much:
 * now and then collecting the garbage of samples, or compiling what they do, falls into
 * one, which would count for all the breaths that aren't looked at. */
static uint64_t usual(struct cycles *c, uint64_t own)
{
  const double MOST = 4;
  double limit = MOST * c->usual, rule = c->usual;
  if (rule <= 0) {
    c->usual = own;
    return own;
  }
  c->usual += ((own < limit ? own : limit) - rule) / 16;
  return own < limit ? own : rule;
}

/* The next breath is about to begin: add the sample, of so many calls, to the sums,
 * unless it is to be dismissed or the thread was off the CPU. Returns after how many
 * breaths to take another. */
int32_t pg_cycles_end(struct cycles *c, int32_t calls, bool dismiss)
{
  uint64_t now = rte_rdtsc(), own = now - c->last;
  uint64_t apart = pg_slept_cycles - c->slept_before + c->reading;
  own = own > apart ? own - apart : 0;
  double breath = (double)(c->last - c->began) + own;
  c->average += (breath - c->average) / 16;
  own = usual(c, own);
  if (dismiss)
    return 0;
  if (switches() != c->switches)
    return distance(c, calls);
  c->samples++;
  c->receives += c->receive;
  c->empties += c->empty;
  c->sends += c->send;
  c->owns += own;
  for (int32_t i = 0; i < calls; i++)
    c->sums[i] += c->spent[i];
  return distance(c, calls);
}

/* TSC cycles that this thread has slept between breaths. */
uint64_t pg_cycles_slept(void)
{
  return pg_slept_cycles;
}
