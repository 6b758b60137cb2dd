/* SPDX-License-Identifier: Apache-2.0
 *
 * The clocks of engines. Each thread that runs one has its own, and counts how
 * often it is looked at: never within a burst.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "../api.h"
#include "clock.h"
#include "internal.h"
#include "times.h"

struct reader pg_main_reader;
struct reader *pg_readers = &pg_main_reader;
pthread_mutex_t pg_readers_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct reader own;
_Thread_local struct reader *pg_reader = &pg_main_reader;

static inline void look(void)
{
  __atomic_store_n(&pg_reader->looks, pg_reader->looks + 1, __ATOMIC_RELAXED);
}

void pg_clock_enter(struct worker *worker)
{
  own.worker = worker;
  pg_reader = &own;
  pthread_mutex_lock(&pg_readers_lock);
  own.next = pg_readers;
  pg_readers = &own;
  pthread_mutex_unlock(&pg_readers_lock);
}

void pg_clock_leave(void)
{
  pthread_mutex_lock(&pg_readers_lock);
  for (struct reader **r = &pg_readers; *r; r = &(*r)->next)
    if (*r == &own) {
      *r = own.next;
      break;
    }
  pthread_mutex_unlock(&pg_readers_lock);
  pg_watch_leave();
  pg_wait_leave();
}

void pg_clock_sleeps(bool begins)
{
  __atomic_store_n(&pg_reader->asleep, begins, __ATOMIC_SEQ_CST);
  look();
}

void pg_clock_await_all(void)
{
  enum { STEP_US = 100, MOST_STEPS = 5000, MOST_READERS = 256 };
  uint64_t before[MOST_READERS];
  bool all = false;
  pthread_mutex_lock(&pg_readers_lock); /* so that no thread leaves meanwhile */
  int n = 0;
  for (struct reader *r = pg_readers; r && n < MOST_READERS; r = r->next)
    before[n++] = __atomic_load_n(&r->looks, __ATOMIC_RELAXED);
  for (int step = 0; step < MOST_STEPS && !all; step++) {
    usleep(STEP_US);
    struct reader *r = pg_readers;
    all = true;
    for (int i = 0; i < n; i++, r = r->next)
      all &= __atomic_load_n(&r->asleep, __ATOMIC_ACQUIRE) ||
             __atomic_load_n(&r->looks, __ATOMIC_RELAXED) != before[i];
  }
  pthread_mutex_unlock(&pg_readers_lock);
}

/* The time stamp counter. */
uint64_t pg_tsc(void)
{
  return rte_rdtsc();
}

/* Its rate in Hz: measured since the process began once EAL runs (DPDK rounds its own to
 * 10 MHz), before that over 10 ms. */
uint64_t pg_tsc_hz(void)
{
  static uint64_t measured;
  if (pg_eal_started())
    return pg_tsc_hz_measured() + 0.5;
  if (!measured) {
    double t0 = seconds_of(CLOCK_MONOTONIC_RAW);
    uint64_t c0 = rte_rdtsc();
    pg_sleep(0.01);
    double t1 = seconds_of(CLOCK_MONOTONIC_RAW);
    measured = (rte_rdtsc() - c0) / (t1 - t0);
  }
  return measured;
}

double pg_monotonic(void)
{
  return seconds_of(CLOCK_MONOTONIC);
}

/* What the time stamp counter showed when this thread last read the system's clocks,
 * and what these did. */
static _Thread_local struct {
  uint64_t tsc, next;
  double seconds, last, seconds_per_tick, ns_per_tick;
  int64_t real_ns, last_real_ns;
} set;

/* Reads them again where the thread lost the CPU in between: what they said wouldn't be
 * what the counter says. */
static uint64_t set_clocks(void)
{
  enum { TRIES = 4, MOST_US = 5 };
  uint64_t least = UINT64_MAX, most = pg_tsc_hz() / 1000000 * MOST_US;
  for (int i = 0; i < TRIES && least > most; i++) {
    uint64_t began = rte_rdtsc();
    int64_t real_ns = ns_of(CLOCK_REALTIME);
    double seconds = pg_monotonic();
    uint64_t took = rte_rdtsc() - began;
    if (took >= least)
      continue;
    least = took;
    set.real_ns = real_ns;
    set.seconds = seconds;
    set.tsc = began + took / 2;
  }
  set.seconds_per_tick = 1.0 / pg_tsc_hz();
  set.ns_per_tick = set.seconds_per_tick * 1e9;
  set.next = set.tsc + pg_tsc_hz() / 100;
  return rte_rdtsc();
}

/* The same clock to within a microsecond at a third of the cost: read from the
 * time stamp counter, set by CLOCK_MONOTONIC every 10 ms. Never runs back. */
double pg_now(void)
{
  uint64_t tsc = rte_rdtsc();
  look();
  if (tsc >= set.next)
    tsc = set_clocks();
  double now = set.seconds + (tsc - set.tsc) * set.seconds_per_tick;
  return set.last = now > set.last ? now : set.last;
}

/* Nanoseconds since 1970, in the same way set by CLOCK_REALTIME. Runs back only where
 * that does, by a millisecond or more. May be asked within a burst. */
int64_t pg_real_ns(void)
{
  enum { SETBACK = 1000000 };
  uint64_t tsc = rte_rdtsc();
  if (tsc >= set.next)
    tsc = set_clocks();
  int64_t passed = tsc - set.tsc, now = set.real_ns + (int64_t)(passed * set.ns_per_tick);
  if (now < set.last_real_ns && set.last_real_ns - now < SETBACK)
    return set.last_real_ns;
  return set.last_real_ns = now;
}
