/* SPDX-License-Identifier: Apache-2.0
 *
 * The limits that packets obey on their way to a device, whatever function sends them:
 * of a limiter or of their own delays, of the queue, and of the device, whose queues
 * share one. A packet goes when all of them let it.
 *
 * Waits that are long are slept through, up to a margin that a woken thread may take; the
 * rest is a busy wait, which alone keeps gaps of microseconds.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_pause.h>

#include "internal.h"
#include "pace.h"

enum {
  SLEEP_OVER_US = 250,       /* shorter waits are busy ones */
  WAKE_MARGIN_US = 150,      /* a thread that sleeps wakes up to this late */
  LOOK_US = 10000,           /* a sleeper looks so often if it is to stop, */
  LOOK_EVERY = 64,           /* and a busy one each so many tries */
  TELL_FROM_PERCENT = 1,     /* of the time lost: a warning */
  MOST_LIMITS = 3
};

/* In the order in which they are locked. */
struct limits {
  struct mg_pacer *list[MOST_LIMITS];
  struct pg_schedule before[MOST_LIMITS]; /* their times, as they were */
  int32_t n;
};

/* Making them -------------------------------------------------------------------- */

static struct mg_pacer *pacer_at(struct mg_pacer **at, const char *name, uint64_t seed)
{
  struct mg_pacer *found = __atomic_load_n(at, __ATOMIC_ACQUIRE);
  if (found)
    return found;
  struct mg_pacer *made = mg_pacer_new(name, 0, seed);
  if (!made || __atomic_compare_exchange_n(at, &found, made, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_ACQUIRE))
    return made;
  return found; /* another thread's; ours isn't used */
}

struct mg_pacer *mg_pacer_of_queue(struct mg_queue *q, const char *name, uint64_t seed)
{
  struct mg_pacer *p = pacer_at(&q->pacer, name, seed);
  __atomic_store_n(&q->paced, 1, __ATOMIC_RELEASE);
  return p;
}

struct mg_pacer *mg_pacer_of_delays(struct mg_queue *q, const char *name, uint64_t seed)
{
  return pacer_at(&q->delays, name, seed);
}

struct mg_pacer *mg_pacer_of_device(struct mg_device *d, const char *name, uint64_t seed)
{
  struct mg_pacer *p = pacer_at(&d->pacer, name, seed);
  for (int i = 0; i < d->ntx; i++)
    __atomic_store_n(&d->tx[i].paced, 1, __ATOMIC_RELEASE);
  return p;
}

int32_t mg_limit_by_card(struct mg_queue *q, uint32_t mbit)
{
  const struct mg_device *d = q->device;
  if (q->port->own || d->sinks < d->ntx) /* several queues share one of the card */
    return -1;
  return rte_eth_set_queue_rate_limit(q->port->id, q->qid, mbit) == 0 ? 0 : -1;
}

/* What may go -------------------------------------------------------------------- */

static struct limits limits_of(const struct mg_queue *q, struct mg_pacer *first)
{
  struct mg_pacer *all[MOST_LIMITS] = {
    first, __atomic_load_n(&q->pacer, __ATOMIC_ACQUIRE),
    __atomic_load_n(&q->device->pacer, __ATOMIC_ACQUIRE)};
  struct limits l = {.n = 0};
  for (int i = 0; i < MOST_LIMITS; i++)
    if (all[i])
      l.list[l.n++] = all[i];
  return l;
}

static void lock(const struct limits *l)
{
  for (int i = 0; i < l->n; i++)
    pg_spin_lock(&l->list[i]->lock);
}

static void unlock(const struct limits *l)
{
  for (int i = l->n; i-- > 0;)
    pg_spin_unlock(&l->list[i]->lock);
}

/* All are locked. How many may go: they are taken as sent. If none may, `due` is when to
 * ask again. */
static int32_t take(struct limits *l, struct packet *const *packets, int32_t n,
                    uint64_t now, uint64_t *due)
{
  int32_t taken[MOST_LIMITS];
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

int32_t mg_limits_due(struct mg_queue *q, struct mg_pacer *p,
                      struct packet *const *packets, int32_t n, uint64_t now)
{
  struct limits l = limits_of(q, p);
  uint64_t due = 0;
  lock(&l);
  n = take(&l, packets, n, now, &due);
  unlock(&l);
  return n;
}

/* Of those taken, only `n` went. */
static void take_back(struct limits *l, struct packet *const *packets, int32_t n,
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

/* Waiting ------------------------------------------------------------------------ */

static void tell_too_fast(struct mg_pacer *p, uint64_t now)
{
  if (p->times.skipped * 100 < (now - p->times.first) * TELL_FROM_PERCENT ||
      __atomic_exchange_n(&p->told, 1, __ATOMIC_RELAXED))
    return;
  char what[64] = "its packets' delays";
  if (p->asked > 0)
    snprintf(what, sizeof what, "%.6g %s", p->asked, p->unit);
  mg_warn("%s: %s can't be kept; the reached rate is reported at the end", p->name, what);
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

/* Wait until at least one may go, and return how many; 0 if the script is to end. */
static int32_t wait_for(struct limits *l, struct packet *const *packets, int32_t n)
{
  double hz = l->list[0]->hz;
  uint64_t sleep_over = hz * SLEEP_OVER_US / 1e6;
  for (uint32_t tries = 1; n > 0; tries++) {
    uint64_t due = 0;
    mg_look_after_caches();
    lock(l);
    uint64_t now = rte_rdtsc();
    int32_t may_go = take(l, packets, n, now, &due);
    unlock(l);
    if (may_go > 0) {
      for (int i = 0; i < l->n; i++)
        if (l->list[i]->times.skipped > l->before[i].skipped)
          tell_too_fast(l->list[i], now);
      return may_go;
    }
    bool sleeps = due - now > sleep_over;
    if ((sleeps || tries % LOOK_EVERY == 0) && !mg_running(0))
      return 0;
    if (sleeps)
      sleep_until(hz, due, now);
    else
      rte_pause();
  }
  return 0;
}

/* Sending ------------------------------------------------------------------------ */

static bool has_gaps(struct packet *const *packets, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    if (!packets[i])
      return true;
  return false;
}

int32_t mg_send_through(struct mg_queue *q, struct mg_pacer *p, struct packet **packets,
                        uint32_t n)
{
  struct limits l = limits_of(q, p);
  uint32_t sent = 0;
  if (has_gaps(packets, n))
    return MG_NO_BUFFER;
  while (sent < n) {
    int32_t may_go = l.n > 0 ? wait_for(&l, packets + sent, n - sent) : (int32_t)n;
    if (may_go == 0) {
      mg_free(packets + sent, n - sent);
      break;
    }
    int32_t result = mg_send_now(q, packets + sent, may_go);
    if (result < 0)
      return result;
    sent += may_go;
  }
  return sent;
}

int32_t mg_try_send_paced(struct mg_queue *q, struct packet **packets, uint32_t n)
{
  struct limits l = limits_of(q, NULL);
  uint64_t due = 0;
  if (has_gaps(packets, n))
    return MG_NO_BUFFER;
  lock(&l);
  uint64_t now = rte_rdtsc();
  int32_t may_go = take(&l, packets, RTE_MIN(n, (uint32_t)MG_BURST), now, &due);
  int32_t sent = may_go > 0 ? mg_try_send_now(q, packets, may_go) : 0;
  if (sent < may_go)
    take_back(&l, packets, sent > 0 ? sent : 0, now);
  unlock(&l);
  return sent;
}
