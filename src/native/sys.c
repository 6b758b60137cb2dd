/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks, sleep and signals for the engine.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "api.h"
#include "internal.h"

static volatile sig_atomic_t caught;

volatile uint64_t pg_clock_readings;

_Thread_local uint64_t pg_slept_cycles;

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
  static uint64_t base_tsc, next_setting;
  static double base, seconds_per_tick, last;
  uint64_t tsc = rte_rdtsc();
  pg_clock_readings++;
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

/* CPU time of this thread. */
double pg_thread_cpu_seconds(void)
{
  return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/* CPU time of this process. */
double pg_cpu_seconds(void)
{
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
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

static void catch_signal(int number)
{
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

int pg_errno(void)
{
  return errno;
}
