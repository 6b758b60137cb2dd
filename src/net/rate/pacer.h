/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules that threads share, by name: of a limiter, of a queue, of a device. Plain
 * declarations: LuaJIT reads this file (core.declare).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../net/rate/schedule.h"

struct pg_pacer {
  int32_t lock;              /* held while times are taken */
  int32_t reported;          /* that the rate can't be kept */
  double hz;                 /* of the time stamp counter */
  struct pg_schedule times;  /* in its cycles */
  double asked;              /* as the user put it, in `unit`, for reports */
  char unit[12];
  char name[64];             /* whose it is */
  struct pg_pacer *next;     /* made before it */
};

struct pg_pacer *pg_pacer_new(const char *name, double hz, uint64_t seed);
struct pg_pacer *pg_pacer_at(struct pg_pacer **at, const char *name, uint64_t seed);
struct pg_pacer *pg_pacers(void);
void pg_pacer_set(struct pg_pacer *p, int32_t pattern, double gap, double byte_cycles,
                  double asked, const char *unit);
double pg_pacer_rate(const struct pg_pacer *p);
bool pg_pacer_is_behind(struct pg_pacer *p, char *what, size_t size);

/* What packets obey together; limits.c. In the order in which they are locked. */
enum { PG_LIMITS_MOST = 3 };
struct pg_limits {
  struct pg_pacer *list[3];
  struct pg_schedule before[3]; /* their times, as they were */
  int32_t n;
};

void pg_limits_lock(const struct pg_limits *l);
void pg_limits_unlock(const struct pg_limits *l);
int32_t pg_limits_take(struct pg_limits *l, struct packet *const *packets, int32_t n,
                       uint64_t now, uint64_t *due);
void pg_limits_take_back(struct pg_limits *l, struct packet *const *packets, int32_t n,
                         uint64_t now);
int32_t pg_limits_wait(struct pg_limits *l, struct packet *const *packets, int32_t n,
                       bool (*goes_on)(bool look));
