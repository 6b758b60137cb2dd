/* SPDX-License-Identifier: Apache-2.0
 *
 * How often somebody who looks at the time stamp counter all the time doesn't get to it
 * for a while: the kernel, the hypervisor or he himself had other things to do.
 *
 *   pauses SECONDS CPU [MICROSECONDS]
 *
 * looks at nothing else, on that CPU; or works for so long between looks, as long as
 * nobody takes the CPU away. bench/lua/pauses.lua loads this as a library, and looks each
 * time a port is asked for packets. Prints one line: gaps over 50 microseconds, gaps over
 * 100, the longest in microseconds.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rte_ethdev.h>
#include <x86intrin.h>

enum { CALIBRATION_MS = 50 };

struct gaps {
  double cycles_per_us;
  uint64_t last, longest, over50, over100, looks;
};

static double seconds_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

void gaps_begin(struct gaps *g)
{
  double began = seconds_now(), now = began;
  uint64_t tsc = __rdtsc();
  while (now - began < CALIBRATION_MS * 1e-3)
    now = seconds_now();
  *g = (struct gaps){.cycles_per_us = (__rdtsc() - tsc) / ((now - began) * 1e6)};
  g->last = __rdtsc();
}

void gaps_note(struct gaps *g)
{
  uint64_t now = __rdtsc(), gap = now - g->last;
  g->last = now;
  g->looks++;
  if (__builtin_expect(gap <= g->longest && gap < 50 * g->cycles_per_us, 1))
    return;
  g->longest = gap > g->longest ? gap : g->longest;
  g->over50 += gap > 50 * g->cycles_per_us;
  g->over100 += gap > 100 * g->cycles_per_us;
}

static uint16_t polled(uint16_t port, uint16_t queue, struct rte_mbuf *packets[],
                       uint16_t n, uint16_t most, void *gaps)
{
  (void)port, (void)queue, (void)packets, (void)most;
  gaps_note(gaps);
  return n;
}

/* Look whenever DPDK's port is asked for packets, whether there are any or not. */
bool gaps_watch(struct gaps *g, uint16_t port)
{
  return rte_eth_add_rx_callback(port, 0, polled, g) != NULL;
}

void gaps_print(const struct gaps *g)
{
  printf("%lu %lu %.0f\n", (unsigned long)g->over50, (unsigned long)g->over100,
         g->longest / g->cycles_per_us);
  fflush(stdout);
}

static void work(uint64_t steps)
{
  volatile uint64_t n = steps;
  while (n > 0)
    n--;
}

/* How many steps take so many cycles: by the fastest of some trials, in which nobody
 * has taken the CPU away. */
static uint64_t steps_of(double cycles)
{
  enum { TRIALS = 1000, STEPS = 1000 };
  uint64_t fastest = UINT64_MAX;
  for (int i = 0; i < TRIALS; i++) {
    uint64_t began = __rdtsc();
    work(STEPS);
    uint64_t took = __rdtsc() - began;
    fastest = took < fastest ? took : fastest;
  }
  return (uint64_t)(cycles / fastest * STEPS);
}

int main(int argc, char **argv)
{
  struct gaps g;
  cpu_set_t cpu;
  if (argc != 3 && argc != 4)
    return 2;
  CPU_ZERO(&cpu);
  CPU_SET(atoi(argv[2]), &cpu);
  if (sched_setaffinity(0, sizeof cpu, &cpu) < 0)
    return 1;
  gaps_begin(&g);
  uint64_t steps = argc == 4 ? steps_of(atof(argv[3]) * g.cycles_per_us) : 0;
  g.last = __rdtsc();
  for (uint64_t end = g.last + atof(argv[1]) * 1e6 * g.cycles_per_us; g.last < end;) {
    work(steps);
    gaps_note(&g);
  }
  gaps_print(&g);
  return 0;
}
