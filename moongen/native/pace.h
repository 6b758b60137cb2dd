/* SPDX-License-Identifier: Apache-2.0
 *
 * When each packet of a transmit queue may go: a schedule in cycles of the time stamp
 * counter. A packet's time follows from the time of the one before it, never from when
 * that one was really sent, so a schedule doesn't drift. Plain declarations, which
 * LuaJIT reads too (moongen/pacing/pacer.lua).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;

enum mg_pattern {
  MG_UNPACED,                /* all may go at once */
  MG_RATE,                   /* so many bits a second, with 4 bytes of CRC each */
  MG_CBR,                    /* a packet each `gap` */
  MG_POISSON,                /* gaps of `gap` on average, exponentially distributed */
  MG_SPACING,                /* each says how long after the start of the one before, */
  MG_DELAY                   /* or after its end; in bytes on the wire, in note64[0] */
};

/* Owned by one queue or limiter; one thread at a time sends through it. */
struct mg_pacer {
  int32_t pattern;           /* enum mg_pattern */
  int32_t told;              /* that the rate can't be kept */
  double gap;                /* cycles between packets, on average */
  double byte_cycles;        /* cycles that a byte takes: at MG_RATE's rate, else on */
                             /* the wire */
  double hz;                 /* of the time stamp counter */
  uint64_t random;           /* state of the random numbers */

  uint64_t due;              /* when the next packet may go, */
  double fraction;           /* and this part of a cycle later */
  uint64_t allowed;          /* lateness that is made up for, cycles */
  uint64_t left;             /* when the sender was last let go */
  bool begun, spaced;        /* has a packet gone; is the next one's delay in `due` */

  uint64_t packets, bytes;   /* let go since it was set, bytes without CRC */
  uint64_t first, last;      /* times due of the first and the last of them */
  uint64_t idle;             /* cycles in which the sender had nothing to send */
  uint64_t lost;             /* cycles given up because sending took too long */
  double asked;              /* as the user put it, in `unit`, for reports */
  char unit[12];
  char name[64];             /* whose it is */
  struct mg_pacer *next;     /* made before it */
};

/* Cycles a second of the time stamp counter. DPDK's figure is rounded to 10 MHz, which
 * would make all rates up to 0.4 % wrong. */
double mg_tsc_hz(void);

/* A pacer that lets everything go, for as long as the process lives, since any thread
 * may hold it. `hz` is the counter's rate, or 0 to ask. NULL: no memory. */
struct mg_pacer *mg_pacer_new(const char *name, double hz, uint64_t seed);

/* The newest; all others follow by `next`. */
struct mg_pacer *mg_pacers(void);

/* What it does from now on. Times already given stay; its counts begin anew. */
void mg_pacer_set(struct mg_pacer *, int32_t pattern, double gap, double byte_cycles,
                  double asked, const char *unit);

/* How many of the n packets may go at time `now` (0: none yet, see `due`). Those are
 * taken as sent. */
int32_t mg_pacer_due(struct mg_pacer *, struct packet *const *packets, int32_t n,
                     uint64_t now);

/* Wait until at least one may go, and return how many; 0 if the script is to end. */
int32_t mg_pace(struct mg_pacer *, struct packet *const *packets, int32_t n);

/* Let the card itself send with so many Mbit/s (0: no limit). -1: it can't. */
struct mg_queue;
int32_t mg_limit_by_card(struct mg_queue *, uint32_t mbit);

/* Send all at the pacer's times. Returns how many were sent (those that were not when
 * the script was to end are freed), or an enum mg_fault. */
int32_t mg_send_through(struct mg_queue *, struct mg_pacer *, struct packet **packets,
                        uint32_t n);
