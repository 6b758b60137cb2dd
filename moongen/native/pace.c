/* SPDX-License-Identifier: Apache-2.0
 *
 * The schedules of pace.h: when each packet may go. limits.c waits for that.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "../../src/net/wire/wire.h"
#include "internal.h"
#include "pace.h"

enum {
  CRC_BYTES = 4,
  CATCH_UP_MS = 100          /* a busy machine takes the CPU away for so long */
};

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
  p->allowed = p->hz * CATCH_UP_MS / 1000;
  p->random = seed;
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
  mg_spin_lock(&p->lock);
  p->gap = gap;
  p->byte_cycles = byte_cycles;
  p->asked = asked;
  snprintf(p->unit, sizeof p->unit, "%s", unit);
  p->told = 0;
  p->packets = p->bytes = p->idle = p->lost = 0;
  p->begun = p->spaced = false;
  __atomic_store_n(&p->pattern, pattern, __ATOMIC_RELEASE);
  mg_spin_unlock(&p->lock);
}

/* Uniform in (0, 1]: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, OOPSLA 2014). */
static double uniform(struct mg_pacer *p)
{
  uint64_t z = p->random += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return ((z >> 11) + 1) * 0x1p-53;
}

static void later(struct mg_pacer *p, double cycles)
{
  double sum = p->fraction + cycles;
  uint64_t whole = sum;
  p->due += whole;
  p->fraction = sum - whole;
}

/* The delay that the packet asks for, in bytes. A script that wants more than the wire
 * can carry computes negative ones. */
static double delay_bytes(const struct packet *packet)
{
  int64_t bytes = packet->note64[0];
  return bytes > 0 ? bytes : 0;
}

static double wire_cycles(const struct mg_pacer *p, const struct packet *packet)
{
  return (packet->length + WIRE_OVERHEAD) * p->byte_cycles;
}

/* Cycles from the time of this packet to the next one's; with MG_SPACING and MG_DELAY,
 * to when the next one's own delay begins. */
static double cycles_after(struct mg_pacer *p, const struct packet *packet)
{
  switch (p->pattern) {
  case MG_RATE:
    return (packet->length + CRC_BYTES) * p->byte_cycles;
  case MG_CBR:
    return p->gap;
  case MG_POISSON: {         /* not closer than the wire takes for it */
    double wire = wire_cycles(p, packet);
    return wire < p->gap ? wire - log(uniform(p)) * (p->gap - wire) : wire;
  }
  case MG_DELAY:
    return wire_cycles(p, packet);
  default:
    return 0;
  }
}

static void begin(struct mg_pacer *p, uint64_t now)
{
  p->due = p->first = p->left = now;
  p->fraction = 0;
  p->begun = true;
}

/* Behind by more than is made up for: the schedule begins anew from now. It was the
 * sender's own pause, or the rate is too high. */
static void give_up(struct mg_pacer *p, uint64_t now)
{
  uint64_t late = now - p->due;
  if (now - p->left > p->allowed)
    p->idle += late;
  else
    p->lost += late;
  p->due = now;
  p->fraction = 0;
}

int32_t mg_pacer_due(struct mg_pacer *p, struct packet *const *packets, int32_t n,
                     uint64_t now)
{
  int32_t pattern = __atomic_load_n(&p->pattern, __ATOMIC_ACQUIRE);
  if (pattern == MG_UNPACED)
    return n;
  if (!p->begun)
    begin(p, now);
  bool delayed = pattern == MG_SPACING || pattern == MG_DELAY;
  int32_t i;
  for (i = 0; i < n; i++) {
    if (delayed && !p->spaced) {
      later(p, delay_bytes(packets[i]) * p->byte_cycles);
      p->spaced = true;
    }
    if (p->due > now)
      break;
    if (now - p->due > p->allowed)
      give_up(p, now);
    p->last = p->due;
    p->packets++;
    p->bytes += packets[i]->length;
    later(p, cycles_after(p, packets[i]));
    p->spaced = false;
  }
  return i;
}
