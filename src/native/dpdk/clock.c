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
#include "internal.h"

struct reader {
  uint64_t looks;
  struct reader *next;
} __rte_cache_aligned;

static struct reader main_reader;
static struct reader *readers = &main_reader;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct reader own;
static _Thread_local struct reader *mine = &main_reader;

static inline void look(void)
{
  __atomic_store_n(&mine->looks, mine->looks + 1, __ATOMIC_RELAXED);
}

void pg_clock_enter(void)
{
  mine = &own;
  pthread_mutex_lock(&lock);
  own.next = readers;
  readers = &own;
  pthread_mutex_unlock(&lock);
}

void pg_clock_leave(void)
{
  pthread_mutex_lock(&lock);
  for (struct reader **r = &readers; *r; r = &(*r)->next)
    if (*r == &own) {
      *r = own.next;
      break;
    }
  pthread_mutex_unlock(&lock);
}

void pg_clock_await_all(void)
{
  enum { STEP_US = 100, MOST_STEPS = 5000, MOST_READERS = 256 };
  uint64_t before[MOST_READERS];
  bool all = false;
  pthread_mutex_lock(&lock); /* so that no thread leaves meanwhile */
  int n = 0;
  for (struct reader *r = readers; r && n < MOST_READERS; r = r->next)
    before[n++] = __atomic_load_n(&r->looks, __ATOMIC_RELAXED);
  for (int step = 0; step < MOST_STEPS && !all; step++) {
    usleep(STEP_US);
    struct reader *r = readers;
    all = true;
    for (int i = 0; i < n; i++, r = r->next)
      all &= __atomic_load_n(&r->looks, __ATOMIC_RELAXED) != before[i];
  }
  pthread_mutex_unlock(&lock);
}

static double seconds_of(clockid_t clock)
{
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

/* The time stamp counter. */
uint64_t pg_tsc(void)
{
  return rte_rdtsc();
}

/* Its rate in Hz: DPDK's once EAL runs, else measured over 10 ms. */
uint64_t pg_tsc_hz(void)
{
  static uint64_t measured;
  if (pg_eal_started())
    return rte_get_tsc_hz();
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

/* The same clock to within a microsecond at a third of the cost: read from the
 * time stamp counter, set by CLOCK_MONOTONIC every 10 ms. Never runs back. */
double pg_now(void)
{
  static _Thread_local uint64_t base_tsc, next_setting;
  static _Thread_local double base, seconds_per_tick, last;
  uint64_t tsc = rte_rdtsc();
  look();
  if (tsc >= next_setting) {
    base = pg_monotonic();
    base_tsc = rte_rdtsc();
    seconds_per_tick = 1.0 / pg_tsc_hz();
    next_setting = base_tsc + pg_tsc_hz() / 100;
    tsc = base_tsc;
  }
  double now = base + (tsc - base_tsc) * seconds_per_tick;
  return last = now > last ? now : last;
}
