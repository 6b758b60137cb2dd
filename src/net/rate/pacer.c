/* SPDX-License-Identifier: Apache-2.0
 *
 * Pacers: made, found, set, and asked (pacer.h). They live as long as the process, since
 * any thread may hold one.
 */
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>

#include "../../native/api.h"
#include "../../native/spin.h"
#include "pacer.h"

enum {
  CATCH_UP_MS = 100,         /* a busy machine takes the CPU away for so long */
  BEHIND_FROM_PERCENT = 1    /* of the time lost: that is reported */
};

static struct pg_pacer *newest;

/* A pacer that lets everything go. `hz` is the counter's rate, or 0 to measure it. NULL: no
 * memory. */
struct pg_pacer *pg_pacer_new(const char *name, double hz, uint64_t seed)
{
  struct pg_pacer *p = calloc(1, sizeof *p);
  if (!p)
    return NULL;
  p->hz = hz > 0 ? hz : pg_tsc_hz_measured();
  p->times.catch_up = p->hz * CATCH_UP_MS / 1000;
  p->times.random = seed;
  snprintf(p->name, sizeof p->name, "%s", name);
  p->next = __atomic_load_n(&newest, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&newest, &p->next, p, true, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {}
  return p;
}

/* The pacer there; the first thread that asks makes it. NULL: no memory. */
struct pg_pacer *pg_pacer_at(struct pg_pacer **at, const char *name, uint64_t seed)
{
  struct pg_pacer *found = __atomic_load_n(at, __ATOMIC_ACQUIRE);
  if (found)
    return found;
  struct pg_pacer *made = pg_pacer_new(name, 0, seed);
  if (!made || __atomic_compare_exchange_n(at, &found, made, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_ACQUIRE))
    return made;
  return found; /* another thread's; ours isn't used */
}

/* The newest; all others follow by `next`. */
struct pg_pacer *pg_pacers(void) { return __atomic_load_n(&newest, __ATOMIC_ACQUIRE); }

/* What it does from now on. Times already taken stay; its counts begin at 0. */
void pg_pacer_set(struct pg_pacer *p, int32_t pattern, double gap, double byte_cycles,
                  double asked, const char *unit)
{
  pg_spin_lock(&p->lock);
  p->asked = asked;
  snprintf(p->unit, sizeof p->unit, "%s", unit);
  p->reported = 0;
  pg_schedule_set(&p->times, pattern, gap, byte_cycles);
  pg_spin_unlock(&p->lock);
}

/* Its rate in bit/s with 4 bytes of CRC a packet; 0 if it has none (or is NULL). */
double pg_pacer_rate(const struct pg_pacer *p)
{
  double byte_cycles = p && p->times.pattern == PG_RATE ? p->times.byte_ticks : 0;
  return byte_cycles > 0 ? 8 * p->hz / byte_cycles : 0;
}

/* Did sending take so long that a percent of the time was given up? True once: then `what`
 * says what can't be kept. */
bool pg_pacer_is_behind(struct pg_pacer *p, char *what, size_t size)
{
  uint64_t lasted = rte_rdtsc() - p->times.first;
  if (p->times.skipped * 100 < lasted * BEHIND_FROM_PERCENT ||
      __atomic_exchange_n(&p->reported, 1, __ATOMIC_RELAXED))
    return false;
  if (p->asked > 0)
    snprintf(what, size, "%.6g %s", p->asked, p->unit);
  else
    snprintf(what, size, "its packets' delays");
  return true;
}
