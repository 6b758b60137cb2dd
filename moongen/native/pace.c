/* SPDX-License-Identifier: Apache-2.0
 *
 * The pacers of pace.h: made, found, and set. limits.c waits for their times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "internal.h"
#include "pace.h"

enum { CATCH_UP_MS = 100 };  /* a busy machine takes the CPU away for so long */

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

double mg_tsc_hz(void)
{
  static double measured;
  const double enough = 0.1; /* seconds, for an error of about 1e-6 */
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
    hz = none; /* another thread's, so that all have the same */
  return hz;
}

static struct mg_pacer *newest;

struct mg_pacer *mg_pacer_new(const char *name, double hz, uint64_t seed)
{
  struct mg_pacer *p = calloc(1, sizeof *p);
  if (!p)
    return NULL;
  p->hz = hz > 0 ? hz : mg_tsc_hz();
  p->times.catch_up = p->hz * CATCH_UP_MS / 1000;
  p->times.random = seed;
  snprintf(p->name, sizeof p->name, "%s", name);
  p->next = __atomic_load_n(&newest, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&newest, &p->next, p, true, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {}
  return p;
}

struct mg_pacer *mg_pacers(void) { return __atomic_load_n(&newest, __ATOMIC_ACQUIRE); }

void mg_pacer_set(struct mg_pacer *p, int32_t pattern, double gap, double byte_cycles,
                  double asked, const char *unit)
{
  pg_spin_lock(&p->lock);
  p->asked = asked;
  snprintf(p->unit, sizeof p->unit, "%s", unit);
  p->told = 0;
  pg_schedule_set(&p->times, pattern, gap, byte_cycles);
  pg_spin_unlock(&p->lock);
}
