/* SPDX-License-Identifier: Apache-2.0
 *
 * How often somebody who looks at the time stamp counter all the time doesn't get to it
 * for a while: the kernel, the hypervisor or he himself had other things to do.
 *
 *   pauses SECONDS CPU
 *
 * looks at nothing else, on that CPU. bench/lua/pauses.lua loads this as a library, and
 * looks once a breath. Prints one line: gaps over 50 microseconds, gaps over 100, the
 * longest in microseconds.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <x86intrin.h>

enum { CALIBRATION_MS = 50 };

struct gaps {
  double cycles_per_us;
  uint64_t last, longest, over50, over100;
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
  if (__builtin_expect(gap <= g->longest && gap < 50 * g->cycles_per_us, 1))
    return;
  g->longest = gap > g->longest ? gap : g->longest;
  g->over50 += gap > 50 * g->cycles_per_us;
  g->over100 += gap > 100 * g->cycles_per_us;
}

void gaps_print(const struct gaps *g)
{
  printf("%lu %lu %.0f\n", (unsigned long)g->over50, (unsigned long)g->over100,
         g->longest / g->cycles_per_us);
  fflush(stdout);
}

int main(int argc, char **argv)
{
  struct gaps g;
  cpu_set_t cpu;
  if (argc != 3)
    return 2;
  CPU_ZERO(&cpu);
  CPU_SET(atoi(argv[2]), &cpu);
  if (sched_setaffinity(0, sizeof cpu, &cpu) < 0)
    return 1;
  gaps_begin(&g);
  for (uint64_t end = g.last + atof(argv[1]) * 1e6 * g.cycles_per_us; g.last < end;)
    gaps_note(&g);
  gaps_print(&g);
  return 0;
}
