/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets that obey several pacers, such as a queue's and its device's: a packet goes when
 * all of them let it.
 *
 * Waits that are long are slept through, up to a margin that a woken thread may take; the
 * rest is a busy wait, which alone keeps gaps of microseconds.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include "../../native/spin.h"
#include "pacer.h"

enum {
  SLEEP_OVER_US = 250,       /* shorter waits are busy ones */
  WAKE_MARGIN_US = 150,      /* a thread that sleeps wakes up to this late */
  LOOK_US = 10000,           /* a sleeper looks so often if it is to stop, */
  LOOK_EVERY = 64            /* and a busy one each so many tries */
};

void pg_limits_lock(const struct pg_limits *l)
{
  for (int i = 0; i < l->n; i++)
    pg_spin_lock(&l->list[i]->lock);
}

void pg_limits_unlock(const struct pg_limits *l)
{
  for (int i = l->n; i-- > 0;)
    pg_spin_unlock(&l->list[i]->lock);
}

/* How many of the n packets may go at time `now`: they are taken as sent. If none may,
 * `due` is when to ask again. All are locked. */
int32_t pg_limits_take(struct pg_limits *l, struct packet *const *packets, int32_t n,
                       uint64_t now, uint64_t *due)
{
  int32_t taken[PG_LIMITS_MOST];
  int i;
  for (i = 0; i < l->n && n > 0; i++) {
    struct pg_schedule *times = &l->list[i]->times;
    l->before[i] = *times;
    n = taken[i] = pg_schedule_due(times, packets, n, now);
    *due = times->due;
  }
  while (i-- > 0) { /* those who let more go than the last */
    struct pg_schedule *times = &l->list[i]->times;
    if (taken[i] > n) {
      *times = l->before[i];
      pg_schedule_due(times, packets, n, now);
    }
    if (n > 0)
      times->left = now;
  }
  return n;
}

/* Of those just taken, only `n` went. All are still locked. */
void pg_limits_take_back(struct pg_limits *l, struct packet *const *packets, int32_t n,
                         uint64_t now)
{
  for (int i = 0; i < l->n; i++) {
    struct pg_schedule *times = &l->list[i]->times;
    *times = l->before[i];
    pg_schedule_due(times, packets, n, now);
    if (n > 0)
      times->left = now;
  }
}

static void sleep_until(double hz, uint64_t due, uint64_t now)
{
  static _Thread_local bool prompt;
  if (!prompt) {
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0); /* the kernel adds 50 us otherwise */
    prompt = true;
  }
  double us = (due - now) / hz * 1e6 - WAKE_MARGIN_US;
  if (us > LOOK_US)
    us = LOOK_US;
  struct timespec t = {.tv_nsec = us * 1000};
  nanosleep(&t, NULL);
}

/* Wait until at least one may go, and take as many as may: how many. 0 if `goes_on` says
 * no, which is called at each try; `look` is set now and then, for what takes time. */
int32_t pg_limits_wait(struct pg_limits *l, struct packet *const *packets, int32_t n,
                       bool (*goes_on)(bool look))
{
  double hz = l->list[0]->hz;
  uint64_t sleep_over = hz * SLEEP_OVER_US / 1e6;
  bool look = false;
  for (uint32_t tries = 1; n > 0 && goes_on(look); tries++) {
    uint64_t due = 0;
    pg_limits_lock(l);
    uint64_t now = rte_rdtsc();
    int32_t may_go = pg_limits_take(l, packets, n, now, &due);
    pg_limits_unlock(l);
    if (may_go > 0)
      return may_go;
    bool sleeps = due - now > sleep_over;
    look = sleeps || tries % LOOK_EVERY == 0;
    if (sleeps)
      sleep_until(hz, due, now);
    else
      rte_pause();
  }
  return 0;
}
