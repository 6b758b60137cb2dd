/* SPDX-License-Identifier: Apache-2.0
 *
 * How even the busiest of waits is on this machine, for bench/suite/moongen-rate.py:
 *
 *   gaps NANOSECONDS COUNT
 *
 * Waits until each multiple of so many nanoseconds, and prints the share of gaps between
 * the ends of waits that are within two microseconds of that.
 */
#include <math.h>

#include <rte_pause.h>

#include "common.h"

enum { CLOSE_NS = 2000, MEASURE_MS = 100 };

static double seconds_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static double cycles_per_ns(void)
{
  double began = seconds_now(), now = began;
  uint64_t tsc = rte_rdtsc();
  while (now - began < MEASURE_MS * 1e-3)
    now = seconds_now();
  return (rte_rdtsc() - tsc) / (now - began) / 1e9;
}

int main(int argc, char **argv)
{
  check(argc == 3, "usage: gaps NANOSECONDS COUNT; reading it");
  double rate = cycles_per_ns(), gap = atof(argv[1]) * rate;
  uint64_t count = strtoull(argv[2], NULL, 10), close = 0;
  uint64_t start = rte_rdtsc(), last = start;
  for (uint64_t i = 1; i <= count; i++) {
    uint64_t due = start + i * gap, now;
    while ((now = rte_rdtsc()) < due)
      rte_pause();
    close += fabs(now - last - gap) <= CLOSE_NS * rate;
    last = now;
  }
  printf("%.4f\n", (double)close / count);
  return 0;
}
