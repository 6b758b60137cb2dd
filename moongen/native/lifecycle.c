/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether scripts are to go on: until a signal, until the time they set themselves is
 * over, or until one of them stops all. And how their threads wait.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "../../src/native/api.h"
#include "../../src/native/host.h"
#include "internal.h"

int32_t mg_more_tasks_than_cpus;
int32_t mg_goes_on = 1;

/* What leads to all that tasks share. */
struct mg_shared *mg_shared(void)
{
  static union {
    pthread_mutex_t mutex;
    struct mg_shared shared;
  } all = {PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};
  return &all.shared;
}

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(struct lock) &&
               sizeof(pthread_cond_t) <= sizeof(struct lock), "tasks/locks.lua");

static _Atomic uint64_t stop_at = UINT64_MAX; /* TSC */

/* A time that is to pass. The clock stands while a task starts: its script is loaded,
 * which takes longer the less of a CPU there is. */
struct clock {
  _Atomic uint64_t end;  /* TSC; UINT64_MAX: none is set */
  uint64_t stands_since; /* TSC */
};

static struct clock runtime = {.end = UINT64_MAX};     /* that the script has set */
static struct clock examination = {.end = UINT64_MAX}; /* perigee doctor's */
static pthread_mutex_t starting_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int starting; /* tasks */

static _Atomic uint64_t signal_at = UINT64_MAX;
static double examined_for; /* seconds; 0: there is no examination */
static atomic_int exit_status = -1;

static uint64_t end_of_script(void)
{
  uint64_t end = atomic_load_explicit(&stop_at, memory_order_relaxed);
  uint64_t came = atomic_load_explicit(&signal_at, memory_order_relaxed);
  return came < end ? came : end;
}

static uint64_t end_with_clocks(void)
{
  uint64_t end = RTE_MIN(end_of_script(), atomic_load(&runtime.end));
  return RTE_MIN(end, atomic_load(&examination.end));
}

/* 1 until the end, which comes `extra_ms` milliseconds later for who asks so. */
int32_t mg_running(double extra_ms)
{
  mg_look_after_caches();
  if (__builtin_expect(pg_signal() != 0, 0)) {
    uint64_t none = UINT64_MAX;
    atomic_compare_exchange_strong(&signal_at, &none, rte_rdtsc());
  }
  uint64_t end = end_with_clocks();
  if (__builtin_expect(end == UINT64_MAX, 1))
    return 1;
  uint64_t now = rte_rdtsc();
  if (now < end)
    return 1;
  /* The clocks' ends are put off before the last task counts as started. */
  end = atomic_load(&starting) ? end_of_script() : end_with_clocks();
  if (end == UINT64_MAX)
    return 1;
  if (now >= end)
    __atomic_store_n(&mg_goes_on, 0, __ATOMIC_RELAXED);
  return now < end + (uint64_t)(extra_ms * 1e-3 * pg_tsc_hz());
}

bool mg_ended_for(double seconds)
{
  return !mg_running(seconds * 1e3);
}

static uint64_t in_so_long(double seconds)
{
  return rte_rdtsc() + (uint64_t)(seconds * pg_tsc_hz());
}

static void set(struct clock *c, double seconds)
{
  c->stands_since = rte_rdtsc();
  atomic_store(&c->end, in_so_long(seconds));
}

/* End so many seconds from now, or, if tasks start meanwhile, so much later. */
void mg_set_runtime(double seconds)
{
  pthread_mutex_lock(&starting_lock);
  set(&runtime, seconds);
  pthread_mutex_unlock(&starting_lock);
}

/* A task is about to be started. */
void mg_task_starts(void)
{
  pthread_mutex_lock(&starting_lock);
  if (atomic_fetch_add(&starting, 1) == 0)
    runtime.stands_since = examination.stands_since = rte_rdtsc();
  pthread_mutex_unlock(&starting_lock);
}

static void go_on(struct clock *c)
{
  if (c->end != UINT64_MAX)
    atomic_fetch_add(&c->end, rte_rdtsc() - c->stands_since);
}

/* Its function is about to be called, or never will be. */
void mg_task_began(void)
{
  pthread_mutex_lock(&starting_lock);
  if (atomic_load(&starting) == 1) {
    go_on(&runtime);
    go_on(&examination);
  }
  if (atomic_load(&starting) > 0)
    atomic_fetch_sub(&starting, 1);
  pthread_mutex_unlock(&starting_lock);
}

/* End now, unless that has been. */
void mg_stop(void)
{
  uint64_t now = rte_rdtsc();
  if (atomic_load(&stop_at) > now)
    atomic_store(&stop_at, now);
}

/* The script is examined (perigee doctor) for so many seconds from when it begins with
 * what it does: its first task, or the first time it asks whether to go on. */
void mg_examine(double seconds)
{
  examined_for = seconds;
}

/* That is now, unless it has been. Returns the seconds that are left. */
double mg_examination_begins(void)
{
  if (examined_for <= 0)
    return 0;
  pthread_mutex_lock(&starting_lock);
  if (examination.end == UINT64_MAX)
    set(&examination, examined_for);
  uint64_t now = atomic_load(&starting) ? examination.stands_since : rte_rdtsc();
  double left = ((double)examination.end - (double)now) / pg_tsc_hz();
  pthread_mutex_unlock(&starting_lock);
  return left;
}

_Thread_local int32_t mg_this_user;

/* One after the other may use a queue: each comes back only if both go on. */
void mg_note_user(struct mg_queue *q, bool sends)
{
  enum { TOLD = INT32_MAX / 2, TURNS = 2 };
  static int32_t users;
  if (!mg_this_user)
    mg_this_user = __atomic_add_fetch(&users, 1, __ATOMIC_RELAXED);
  if (q->user == mg_this_user)
    return;
  int32_t turns = q->user_before == mg_this_user ? q->turns + 1 : 0;
  q->user_before = q->user;
  q->user = mg_this_user;
  if (q->turns < TOLD)
    q->turns = turns;
  if (turns != TURNS || __atomic_exchange_n(&q->turns, TOLD, __ATOMIC_RELAXED) >= TOLD)
    return;
  mg_warn("[%s: id=%d, qid=%d]: two tasks use it; give each a queue of its own, or counts "
          "and rates are wrong", sends ? "TxQueue" : "RxQueue", q->device->id, q->qid);
}

/* To where users look for warnings of the script: libmoon's log is standard output. */
void mg_warn(const char *fmt, ...)
{
  char text[256];
  va_list values;
  va_start(values, fmt);
  vsnprintf(text, sizeof text, fmt, values);
  va_end(values);
  bool colours = isatty(STDOUT_FILENO);
  printf("%s[WARN]  %s%s\n", colours ? "\033[1;33m" : "", text, colours ? "\033[0m" : "");
  fflush(stdout);
}

/* Do more tasks run than there are CPUs? */
void mg_crowded(int32_t crowded)
{
  mg_look_after_caches(); /* the main thread waits for tasks */
  mg_more_tasks_than_cpus = crowded;
}

int32_t mg_is_crowded(void)
{
  return mg_more_tasks_than_cpus;
}

/* A task calls os.exit: the main thread is to end the process with this status. */
void mg_want_exit(int32_t status)
{
  int none = -1;
  atomic_compare_exchange_strong(&exit_status, &none, status);
  mg_stop();
}

/* The status, or -1. Tasks that go on after an examination are waited for no longer. */
int32_t mg_exit_wanted(void)
{
  enum { PATIENCE_SECONDS = 2 };
  int32_t status = atomic_load(&exit_status);
  if (status < 0 && examination.end != UINT64_MAX &&
      mg_examination_begins() < -PATIENCE_SECONDS)
    return 0;
  return status;
}

/* End the process now, though threads still run; files are written. */
void mg_leave(int32_t status)
{
  fflush(NULL);
  _exit(status);
}

int32_t mg_this_cpu(void)
{
  return sched_getcpu();
}

/* Wait so long. A precise wait spins at its end: the kernel wakes late. */
void mg_sleep(double seconds, int32_t precise)
{
  enum { LATE_US = 120 };
  uint64_t hz = pg_tsc_hz(), end = rte_rdtsc() + (uint64_t)(seconds * hz);
  uint64_t spin = precise ? hz / 1000000 * LATE_US : 0;
  for (;;) {
    uint64_t now = rte_rdtsc();
    mg_look_after_caches();
    if (now >= end)
      return;
    if (now + spin >= end) {
      rte_pause();
      continue;
    }
    double rest = (double)(end - now - spin) / hz;
    if (rest > 0.1) /* a wish to exit is seen in between, or for buffers */
      rest = 0.1;
    pg_sleep(rest);
    if (mg_exit_wanted() >= 0)
      return;
  }
}
