/* SPDX-License-Identifier: Apache-2.0
 *
 * The watchdog: a thread that sees whether each engine looks at its clock. One that
 * doesn't for so long is interrupted; if that doesn't help in a second, the process
 * ends, or goes on without it, where it is a worker's. Each engine's thread finds out
 * itself where it is: no other could look into its Lua state.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>

#include <lauxlib.h>
#include <lua.h>

#include "../api.h"
#include "../log.h"
#include "../signals.h"
#include "clock.h"
#include "internal.h"
#include "times.h"

enum {
  STEP_US = 100000,
  GRACE_STEPS = 10,          /* from the interruption to the end */
  IDLE_STEPS = 5,            /* between looks while all are asleep, and no more than */
  IDLE_SHARE = 4,            /* this part of the patience */
  STEP_NS = STEP_US * 1000,
  BUSY_NS = 1000000          /* of CPU time in a step: it has been at work */
};

static int patience; /* in steps; 0: not watching */
static double patience_s;
static bool any_given_up;

/* Not used by others: LuaJIT's profiler has SIGPROF, glibc the first two. */
static int interruption(void)
{
  return SIGRTMIN + 5;
}

void pg_watch_state(lua_State *L)
{
  pg_reader->lua = L;
  if (L)
    pg_handler_register(L);
  if (!pg_reader->worker)
    pg_reader->thread = pthread_self();
}

/* Interrupting an engine ------------------------------------------------------- */

static bool is_stuck(const struct reader *r)
{
  return r->watched && r->interrupted_at && r->looks == r->interrupted_at;
}

/* The first Lua code that is interpreted comes here, in the engine's thread. */
static void stop_lua(lua_State *L, lua_Debug *ignored)
{
  lua_Debug at = {0};
  (void)ignored;
  lua_sethook(L, NULL, 0, 0);
  if (!is_stuck(pg_reader))
    return;
  pg_reader->work.interrupted = 1;
  strcpy(at.short_src, "?");
  for (int level = 0; at.currentline <= 0 && lua_getstack(L, level, &at); level++)
    lua_getinfo(L, "Sl", &at);
  lua_pushfstring(L, "%s:%d: it hasn't returned for %f s, on CPU %d (--watchdog sets "
                  "how long it may take)", at.short_src, at.currentline, patience_s,
                  sched_getcpu());
  lua_error(L);
}

/* In the engine's thread. */
static void on_interruption(int number, siginfo_t *info, void *context)
{
  struct reader *r = pg_reader;
  const char *line, *app = NULL;
  char call[120];
  (void)number;
  (void)info;
  bool compiled = pg_where_compiled(r, context, &line, &app);
  pg_what_call(r, app, call, sizeof call);
  snprintf(r->where, sizeof r->where, "%s: on CPU %d%s%s%s", call, sched_getcpu(),
           compiled ? ", at " : ", in C code or between two lines", compiled ? line : "",
           compiled ? " (compiled)" : "");
  if (r->lua)
    lua_sethook(r->lua, stop_lua, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

static void interrupt(struct reader *r)
{
  r->where[0] = '\0';
  __atomic_store_n(&r->interrupted_at, r->looks, __ATOMIC_RELEASE);
  pthread_kill(r->thread, interruption());
}

_Noreturn void pg_end(int status)
{
  if (ftrylockfile(stdout) == 0)
    fflush_unlocked(stdout);
  pg_restore_terminal();
  _exit(status);
}

/* Has a worker been given up, whose thread is still there? */
bool pg_stuck(void)
{
  return any_given_up;
}

/* Before the process ends as usual: if a thread doesn't return, end it here, with what
 * files have buffered written; what else is done at the end would crash that thread. */
void pg_end_without_stuck(int status)
{
  if (!any_given_up)
    return;
  fflush(NULL);
  _exit(status);
}

/* The interruption hasn't helped. */
static void give_up(struct reader *r)
{
  char call[120];
  pg_what_call(r, NULL, call, sizeof call);
  pg_logf(LOG_ERROR, "%s: it hasn't returned for %g s (--watchdog sets how long it may "
          "take)", r->where[0] ? r->where : call,
          patience_s + GRACE_STEPS * STEP_US * 1e-6);
  if (!r->worker)
    pg_end(1);
  any_given_up = true;
  r->watched = false;
  __atomic_store_n(&r->worker->given_up, 1, __ATOMIC_RELEASE);
}

/* Watching -------------------------------------------------------------------- */

/* "R" runs or waits for a CPU, "S" and "D" wait for something else, "T" and "t" are
 * stopped from outside. */
static char state_of(const struct reader *r)
{
  char path[64], text[128] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", r->tid);
  FILE *file = fopen(path, "r");
  if (!file)
    return '?';
  size_t n = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[n] = '\0';
  const char *state = strrchr(text, ')');
  return state && strlen(state) > 2 ? state[2] : '?';
}

/* For how long it was the thread's own doing that it made no progress since the last
 * look, and not that others had the CPU, or that it was stopped. */
static uint64_t chance_ns(struct reader *r)
{
  uint64_t before = r->cpu_ns;
  r->cpu_ns = ns_of(r->cpu_clock);
  char state = state_of(r);
  if (state == 'S' || state == 'D')
    return STEP_NS;
  return RTE_MIN(r->cpu_ns - before, (uint64_t)STEP_NS);
}

/* False: it has nothing to do. */
static bool look_at(struct reader *r, int most_steps)
{
  uint64_t looks = __atomic_load_n(&r->looks, __ATOMIC_RELAXED);
  bool awake = __atomic_load_n(&r->watched, __ATOMIC_ACQUIRE) &&
               !__atomic_load_n(&r->asleep, __ATOMIC_RELAXED);
  if (!awake || looks != r->seen) {
    r->seen = looks;
    r->strikes = 0;
    r->stalled_ns = 0;
    r->cpu_ns = ns_of(r->cpu_clock);
    return awake;
  }
  uint64_t chance = chance_ns(r);
  int before = (int)(r->stalled_ns / STEP_NS);
  r->stalled_ns += chance;
  r->strikes += chance >= BUSY_NS;
  int now = (int)(r->stalled_ns / STEP_NS);
  if (before < most_steps && now >= most_steps)
    interrupt(r);
  else if (before < most_steps + GRACE_STEPS && now >= most_steps + GRACE_STEPS)
    give_up(r);
  return true;
}

/* If the process is stopped, or the machine suspended, so is this thread: it counts
 * its own steps, and no seconds. */
static void *watch(void *ignored)
{
  for (int steps = 1;;) {
    usleep(steps * STEP_US);
    pthread_mutex_lock(&pg_readers_lock);
    int most_steps = __atomic_load_n(&patience, __ATOMIC_ACQUIRE);
    bool any_awake = false;
    for (struct reader *r = pg_readers; r && most_steps; r = r->next)
      any_awake |= look_at(r, most_steps);
    pthread_mutex_unlock(&pg_readers_lock);
    steps = any_awake ? 1 : RTE_MIN(IDLE_STEPS, RTE_MAX(most_steps / IDLE_SHARE, 1));
  }
  return ignored;
}

static void start(void)
{
  struct sigaction action = {.sa_sigaction = on_interruption,
                             .sa_flags = SA_SIGINFO | SA_RESTART};
  pthread_t thread;
  sigaction(interruption(), &action, NULL);
  if (pg_thread_start(&thread, NULL, watch, NULL) != 0)
    return;
  pthread_setname_np(thread, "watchdog");
  pthread_detach(thread);
}

/* An engine that doesn't come back for so long is stuck; 0: never. */
void pg_watchdog(double seconds)
{
  static bool started;
  int steps = seconds * 1e6 / STEP_US;
  patience_s = seconds;
  __atomic_store_n(&patience, seconds > 0 ? RTE_MAX(steps, 2) : 0, __ATOMIC_RELEASE);
  if (!started && seconds > 0) {
    started = true;
    start();
  }
}

/* Tell the watchdog of this thread. */
static void introduce(struct reader *r)
{
  pthread_attr_t attributes;
  void *stack;
  size_t size;
  sigset_t set;
  r->thread = pthread_self();
  r->tid = gettid();
  pthread_getcpuclockid(r->thread, &r->cpu_clock);
  if (pthread_getattr_np(r->thread, &attributes) == 0) {
    pthread_attr_getstack(&attributes, &stack, &size);
    r->stack_end = (uintptr_t)stack + size;
    pthread_attr_destroy(&attributes);
  }
  sigemptyset(&set);
  sigaddset(&set, interruption());
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Whether this thread's engine is to be watched from now on; whether it was. */
bool pg_watch(bool on)
{
  struct reader *r = pg_reader;
  bool before = r->watched;
  if (!r->tid)
    introduce(r);
  r->interrupted_at = 0;
  __atomic_store_n(&r->watched, on, __ATOMIC_RELEASE);
  return before;
}
