/* SPDX-License-Identifier: Apache-2.0
 *
 * Rates of transmit queues: who keeps them (pace.c), and waits for them (limits.c). When
 * each packet may go is src/net/rate's. Plain declarations, which LuaJIT reads too
 * (moongen/pacing/pacer.lua).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../src/net/rate/schedule.h"

struct packet;

/* Of a limiter, a queue, or a device, whose queues share it (limits.c). */
struct mg_pacer {
  int32_t lock;              /* held while times are given */
  int32_t told;              /* that the rate can't be kept */
  double hz;                 /* of the time stamp counter */
  struct pg_schedule times;  /* in its cycles */
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

/* limits.c ------------------------------------------------------------------- */

struct mg_queue;
struct mg_device;

/* The pacers of a queue to send to, of the delays of packets that are sent there with
 * delays, and of a device's queues together. The first who asks makes it: `name` and
 * `seed` as in mg_pacer_new(). NULL: no memory. */
struct mg_pacer *mg_pacer_of_queue(struct mg_queue *, const char *name, uint64_t seed);
struct mg_pacer *mg_pacer_of_delays(struct mg_queue *, const char *name, uint64_t seed);
struct mg_pacer *mg_pacer_of_device(struct mg_device *, const char *name, uint64_t seed);

/* Let the card itself send with so many Mbit/s (0: no limit). -1: it can't. */
int32_t mg_limit_by_card(struct mg_queue *, uint32_t mbit);

/* How many of the n packets the pacer (may be NULL), the queue and its device let go at
 * time `now`. Those are taken as sent. */
int32_t mg_limits_due(struct mg_queue *, struct mg_pacer *, struct packet *const *packets,
                      int32_t n, uint64_t now);

/* Send all at the times of the pacer (may be NULL), and at the queue's and the device's
 * rate. Returns how many were sent (those that were not when the script was to end are
 * freed), or an enum mg_fault. */
int32_t mg_send_through(struct mg_queue *, struct mg_pacer *, struct packet **packets,
                        uint32_t n);

/* Send those that the queue's and the device's rate let go now, and that the device
 * takes: how many, or an enum mg_fault. The others stay the script's. */
int32_t mg_try_send_paced(struct mg_queue *, struct packet **packets, uint32_t n);
