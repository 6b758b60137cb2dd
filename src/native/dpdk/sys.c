/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU time, sleep and signals for the engine.
 */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "../api.h"
#include "internal.h"

static atomic_int caught; /* lock-free: set in a handler, read by all threads */

_Thread_local uint64_t pg_slept_cycles;

static double seconds_of(clockid_t clock)
{
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Nanoseconds of the clock of pg_monotonic(). */
uint64_t pg_monotonic_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* CPU time of this process. */
double pg_cpu_seconds(void)
{
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* CPU time of this thread. */
double pg_thread_cpu_seconds(void)
{
  return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/* Sleep, or return early when a signal comes. */
void pg_sleep(double seconds)
{
  struct timespec t = {.tv_sec = (time_t)seconds};
  t.tv_nsec = (seconds - t.tv_sec) * 1e9;
  uint64_t began = rte_rdtsc();
  nanosleep(&t, NULL);
  pg_slept_cycles += rte_rdtsc() - began;
}

/* Ctrl-C often comes twice, and `timeout` signals the group and the process:
 * what follows soon is the same wish. Later, somebody has lost patience. */
#define SAME_WISH_SECONDS 1.0

static uint64_t taken;   /* signals that the program takes itself: bits */
static uint64_t pending; /* those of them that came */

static void catch_signal(int number)
{
  if (__atomic_load_n(&taken, __ATOMIC_ACQUIRE) >> number & 1) {
    __atomic_or_fetch(&pending, 1ull << number, __ATOMIC_ACQ_REL);
    return;
  }
  static double first; /* clock_gettime() may be called from handlers */
  double now = seconds_of(CLOCK_MONOTONIC);
  if (!caught) {
    caught = number;
    first = now;
  } else if (now - first > SAME_WISH_SECONDS) {
    signal(number, SIG_DFL);
    raise(number);
  }
}

/* From now on remember SIGINT, SIGTERM and SIGHUP instead of dying of them; of
 * one that comes a second or more after the first, the process dies. */
void pg_catch_signals(void)
{
  struct sigaction action = {.sa_handler = catch_signal};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
}

/* From now on the program takes the signal `number` itself (pg_taken_signal), also if
 * it is one of those that end it; or no more, then it is ignored. */
void pg_take_signal(int number, bool take)
{
  struct sigaction action = {.sa_handler = take ? catch_signal : SIG_IGN};
  if (take)
    __atomic_or_fetch(&taken, 1ull << number, __ATOMIC_ACQ_REL);
  else
    __atomic_and_fetch(&taken, ~(1ull << number), __ATOMIC_ACQ_REL);
  sigaction(number, &action, NULL);
}

/* A signal that came and that the program takes itself, once; or 0. */
int pg_taken_signal(void)
{
  uint64_t came = __atomic_exchange_n(&pending, 0, __ATOMIC_ACQ_REL);
  if (!came)
    return 0;
  int number = __builtin_ctzll(came);
  __atomic_or_fetch(&pending, came & (came - 1), __ATOMIC_ACQ_REL);
  return number;
}

static void on_broken_pipe(int number)
{
  struct pollfd output[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
  if (poll(output, 2, 0) > 0 &&
      (output[0].revents | output[1].revents) & POLLERR) {
    signal(number, SIG_DFL);
    raise(number);
  }
}

/* Some drivers write to a socket whose other end has died (net_virtio_user).
 * SIGPIPE doesn't end the process for that, only when nobody reads its output.
 * A handler, since children would inherit SIG_IGN. */
void pg_survive_broken_sockets(void)
{
  struct sigaction action = {.sa_handler = on_broken_pipe};
  sigaction(SIGPIPE, &action, NULL);
}

/* The signal that came, or 0. */
int pg_signal(void)
{
  return caught;
}
