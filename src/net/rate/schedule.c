/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules of bursts (schedule.h).
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "../../native/api.h"
#include "../../native/random.h"
#include "../wire/wire.h"
#include "schedule.h"

enum { CRC_BYTES = 4 };

/* No gap is longer: 70 years of a counter with 4 GHz, to which no time adds up. */
static const double LONGEST = 0x1p63;

void pg_schedule_set(struct pg_schedule *s, int32_t pattern, double gap,
                     double byte_ticks)
{
  s->gap = gap;
  s->byte_ticks = byte_ticks;
  s->packets = s->bytes = s->idle = s->skipped = 0;
  s->begun = s->spaced = false;
  __atomic_store_n(&s->pattern, pattern, __ATOMIC_RELEASE);
}

/* Uniform in (0, 1]. */
static double uniform(struct pg_schedule *s)
{
  return ((pg_random(&s->random) >> 11) + 1) * 0x1p-53;
}

static void later(struct pg_schedule *s, double ticks)
{
  double sum = s->fraction + ticks;
  uint64_t whole = likely(sum < LONGEST) ? sum : LONGEST;
  if (unlikely(__builtin_add_overflow(s->due, whole, &s->due)))
    s->due = UINT64_MAX;
  s->fraction = likely(sum < LONGEST) ? sum - whole : 0;
}

/* The delay that the packet asks for, in bytes. A script that wants more than the wire
 * can carry computes negative ones. */
static double delay_bytes(const struct packet *packet)
{
  int64_t bytes = packet->note64[0];
  return bytes > 0 ? bytes : 0;
}

static double wire_ticks(const struct pg_schedule *s, const struct packet *packet)
{
  return (packet->length + WIRE_OVERHEAD) * s->byte_ticks;
}

/* Ticks from the time of this packet to the next one's; with PG_SPACING and PG_DELAY, to
 * when the next one's own delay begins. */
static double ticks_after(struct pg_schedule *s, const struct packet *packet)
{
  switch (s->pattern) {
  case PG_RATE:
    return (packet->length + CRC_BYTES) * s->byte_ticks;
  case PG_CBR:
    return s->gap;
  case PG_POISSON: {         /* not closer than the wire takes for it */
    double wire = wire_ticks(s, packet);
    return wire < s->gap ? wire - log(uniform(s)) * (s->gap - wire) : wire;
  }
  case PG_DELAY:
    return wire_ticks(s, packet);
  default:
    return 0;
  }
}

static void begin(struct pg_schedule *s, uint64_t now)
{
  s->due = s->first = s->left = now;
  s->fraction = 0;
  s->begun = true;
}

/* Behind by more than is made up for. After the sender's own pause the schedule begins
 * anew from now; else the rate is too high, or the sender too slow, and the rest is given
 * up. */
static void give_up(struct pg_schedule *s, uint64_t now)
{
  uint64_t late = now - s->due;
  if (now - s->left > s->catch_up) {
    s->idle += late;
    s->due = now;
  } else {
    s->skipped += late - s->catch_up;
    s->due = now - s->catch_up;
  }
  s->fraction = 0;
}

int32_t pg_schedule_due(struct pg_schedule *s, struct packet *const *packets, int32_t n,
                        uint64_t now)
{
  int32_t pattern = __atomic_load_n(&s->pattern, __ATOMIC_ACQUIRE);
  if (pattern == PG_UNPACED)
    return n;
  if (!s->begun)
    begin(s, now);
  bool delayed = pattern == PG_SPACING || pattern == PG_DELAY;
  int32_t i;
  for (i = 0; i < n; i++) {
    if (delayed && !s->spaced) {
      later(s, delay_bytes(packets[i]) * s->byte_ticks);
      s->spaced = true;
    }
    if (s->due > now)
      break;
    if (now - s->due > s->catch_up)
      give_up(s, now);
    s->last = s->due;
    s->packets++;
    s->bytes += packets[i]->length;
    later(s, ticks_after(s, packets[i]));
    s->spaced = false;
  }
  return i;
}
