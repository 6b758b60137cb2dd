/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether scripts are to go on: until a signal, until the time they set themselves is
 * over, or until one of them stops all; tasks/ends.lua sets these times. And how their
 * threads wait.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include <rte_common.h>

#include "../../src/native/api.h"
#include "internal.h"

int32_t mg_more_tasks_than_cpus;

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct mg_shared shared = {
  .lock = (struct lock *)&mutex, .stop_at = UINT64_MAX, .signal_at = UINT64_MAX,
  .runtime.end = UINT64_MAX, .examination.end = UINT64_MAX, .exit_status = -1};

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(struct lock) &&
               sizeof(pthread_cond_t) <= sizeof(struct lock), "moongen/locks.lua");

/* What all tasks share. */
struct mg_shared *mg_shared(void)
{
  return &shared;
}

static inline uint64_t time_of(const uint64_t *at)
{
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static uint64_t end_of_script(void)
{
  return RTE_MIN(time_of(&shared.stop_at), time_of(&shared.signal_at));
}

static uint64_t end_with_clocks(void)
{
  uint64_t end = RTE_MIN(end_of_script(), time_of(&shared.runtime.end));
  return RTE_MIN(end, time_of(&shared.examination.end));
}

/* What this thread itself has waited since it was last asked whether to go on (TSC). */
static _Thread_local uint64_t has_waited;

void mg_note_wait(uint64_t cycles)
{
  has_waited += cycles;
}

/* Has this thread had less than `extra_ms` milliseconds since the end? Of the time between
 * two calls what it waited itself and MOST_OF_A_LOOK_MS count: more than that it was
 * stopped, or had no CPU, and packets wait in its ports. */
static bool has_time_left(uint64_t end, uint64_t now, double extra_ms)
{
  enum { MOST_OF_A_LOOK_MS = 100 };
  static _Thread_local uint64_t since, seen, counted;
  if (since != end) {
    since = seen = end;
    counted = has_waited = 0;
  }
  uint64_t most = has_waited + pg_tsc_hz() / 1000 * MOST_OF_A_LOOK_MS;
  has_waited = 0;
  counted += now > seen ? RTE_MIN(now - seen, most) : 0;
  seen = now;
  return counted < (uint64_t)(extra_ms * 1e-3 * pg_tsc_hz());
}

/* 1 until the end, which comes `extra_ms` milliseconds later for who asks so. */
int32_t mg_running(double extra_ms)
{
  mg_look_after_caches();
  if (__builtin_expect(pg_signal() != 0, 0)) {
    uint64_t none = UINT64_MAX;
    __atomic_compare_exchange_n(&shared.signal_at, &none, rte_rdtsc(), false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
  uint64_t end = end_with_clocks();
  if (__builtin_expect(end == UINT64_MAX, 1))
    return 1;
  uint64_t now = rte_rdtsc();
  if (now < end)
    return 1;
  /* The clocks' ends are put off before the last task counts as started. */
  end = __atomic_load_n(&shared.starting, __ATOMIC_ACQUIRE) ? end_of_script()
                                                            : end_with_clocks();
  return end == UINT64_MAX || has_time_left(end, now, extra_ms);
}

bool mg_ended_for(double seconds)
{
  return !mg_running(seconds * 1e3);
}

/* The status of os.exit in a task, or -1. Tasks that go on after an examination are waited
 * for no longer: then 0. */
int32_t mg_exit_wanted(void)
{
  enum { PATIENCE_SECONDS = 2 };
  int32_t status = __atomic_load_n(&shared.exit_status, __ATOMIC_RELAXED);
  uint64_t end = time_of(&shared.examination.end);
  if (status >= 0 || end == UINT64_MAX || shared.starting)
    return status;
  return rte_rdtsc() > end + PATIENCE_SECONDS * pg_tsc_hz() ? 0 : -1;
}

_Thread_local int32_t mg_this_user;

/* One after the other may use a queue: each comes back only if both go on. */
void mg_note_user(struct mg_queue *q)
{
  enum { TURNS = 2 };
  static int32_t users;
  if (!mg_this_user)
    mg_this_user = __atomic_add_fetch(&users, 1, __ATOMIC_RELAXED);
  if (q->user == mg_this_user)
    return;
  q->turns = q->user_before == mg_this_user ? q->turns + 1 : 0;
  q->user_before = q->user;
  q->user = mg_this_user;
  if (q->turns == TURNS && !q->in_turns)
    q->in_turns = 1;
}

/* Do more tasks run than there are CPUs? */
void mg_crowded(int32_t crowded)
{
  mg_look_after_caches(); /* the main thread waits for tasks */
  mg_more_tasks_than_cpus = crowded;
}

/* Wait so long, or until a signal asks the script to end: who waits after that waits all
 * the same. A precise wait spins at its end: the kernel wakes late. */
void mg_sleep(double seconds, int32_t precise)
{
  enum { LATE_US = 120 };
  static const double most_cycles = (double)(1ull << 62);
  uint64_t hz = pg_tsc_hz();
  uint64_t end = rte_rdtsc() + (uint64_t)RTE_MIN(seconds * hz, most_cycles);
  bool asked_before = pg_signal() != 0;
  uint64_t spin = precise ? hz / 1000000 * LATE_US : 0;
  for (;;) {
    uint64_t now = rte_rdtsc();
    mg_look_after_caches();
    if (now >= end) {
      mg_note_wait(seconds * hz);
      return;
    }
    if (now + spin >= end) {
      rte_pause();
      continue;
    }
    double rest = (double)(end - now - spin) / hz;
    if (rest > 0.1) /* a wish to exit is seen in between, or for buffers */
      rest = 0.1;
    pg_sleep(rest);
    if (mg_exit_wanted() >= 0 || (!asked_before && pg_signal()))
      return;
  }
}
