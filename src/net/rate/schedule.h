/* SPDX-License-Identifier: Apache-2.0
 *
 * When each packet of a burst may go: schedule.lua's rules for C, in ticks of any counter,
 * with the gaps that follow from the packets. Plain declarations: LuaJIT reads this file
 * (core.declare).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;

enum pg_pattern {
  PG_UNPACED,                /* all may go at once */
  PG_RATE,                   /* so many bits a second, with 4 bytes of CRC each */
  PG_CBR,                    /* a packet each `gap` */
  PG_POISSON,                /* gaps of `gap` on average, exponentially distributed */
  PG_SPACING,                /* each says how long after the start of the one before, */
  PG_DELAY                   /* or after its end; in bytes on the wire, in note64[0] */
};

struct pg_schedule {
  int32_t pattern;           /* enum pg_pattern */
  bool begun, spaced;        /* has a packet gone; is the next one's delay in `due` */
  double gap;                /* ticks between packets, on average */
  double byte_ticks;         /* that a byte takes: at PG_RATE's rate, else on the wire */
  uint64_t random;           /* state of the random numbers */

  uint64_t due;              /* when the next packet may go, */
  double fraction;           /* and this part of a tick later */
  uint64_t catch_up;         /* lateness that is made up for */
  uint64_t left;             /* when the sender was last let go: who uses it says it */

  uint64_t packets, bytes;   /* let go since it was set, bytes without CRC */
  uint64_t first, last;      /* times due of the first and the last of them */
  uint64_t idle;             /* ticks in which the sender had nothing to send */
  uint64_t skipped;          /* ticks given up because sending took too long */
};

/* What it does from now on. Times already given stay; its counts begin anew, and the next
 * packet may go at once. */
void pg_schedule_set(struct pg_schedule *, int32_t pattern, double gap,
                     double byte_ticks);

/* How many of the n packets may go at time `now` (0: none yet, see `due`). Those are
 * taken as sent. */
int32_t pg_schedule_due(struct pg_schedule *, struct packet *const *packets, int32_t n,
                        uint64_t now);
