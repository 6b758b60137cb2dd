/* SPDX-License-Identifier: Apache-2.0
 *
 * The rate of the time stamp counter, measured against the kernel's clock since the
 * process began. DPDK's figure is rounded to 10 MHz, which would make rates and latencies up
 * to 0.4 % wrong, and the clock of engines, which is set every 10 ms, by 40 us.
 */
#include <stdbool.h>
#include <stdint.h>

#include <rte_cycles.h>

#include "../api.h"

/* The counter and the clock at one moment: of a few tries, the one that took least. */
struct moment { uint64_t tsc; double seconds; };

static struct moment look_at_clocks(void)
{
  struct moment best = {0};
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 5; i++) {
    uint64_t before = rte_rdtsc();
    double seconds = pg_monotonic();
    uint64_t after = rte_rdtsc();
    if (after - before < least) {
      least = after - before;
      best = (struct moment){before + least / 2, seconds};
    }
  }
  return best;
}

static struct moment process_began;

__attribute__((constructor)) static void note_beginning(void)
{
  process_began = look_at_clocks();
}

/* Cycles a second, the same for all who ask. Takes up to 0.1 s in a process that has just
 * begun, for an error of about 1e-6. */
double pg_tsc_hz_measured(void)
{
  static double measured;
  const double enough = 0.1; /* seconds */
  double hz;
  __atomic_load(&measured, &hz, __ATOMIC_RELAXED);
  if (hz > 0)
    return hz;
  double missing = process_began.seconds + enough - pg_monotonic();
  if (missing > 0)
    pg_sleep(missing);
  struct moment now = look_at_clocks();
  double none = 0;
  hz = (now.tsc - process_began.tsc) / (now.seconds - process_began.seconds);
  if (!__atomic_compare_exchange(&measured, &none, &hz, false, __ATOMIC_RELAXED,
                                 __ATOMIC_RELAXED))
    hz = none; /* another thread's */
  return hz;
}
