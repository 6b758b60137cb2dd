/* SPDX-License-Identifier: Apache-2.0
 *
 * For who watches a script. Counts that queues and threads have anyway are copied to
 * shared memory, some times a second, by the tender: nobody who moves packets does
 * anything for it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"

struct watched {
  struct watched *next;
  enum mg_watched what;
  const void *of;
  clockid_t clock; /* of a thread */
  uint64_t *to;    /* in shared memory */
};

static struct watched *list;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Copy that of `of`, which stays, to `to` from now on; of MG_WATCH_THREAD, the one that
 * calls this. 0, or -1 without memory. */
int32_t mg_watch(enum mg_watched what, const void *of, uint64_t *to)
{
  struct watched *w = malloc(sizeof *w);
  if (!w)
    return -1;
  *w = (struct watched){.what = what, .of = of, .to = to};
  pthread_getcpuclockid(pthread_self(), &w->clock);
  pthread_mutex_lock(&mutex);
  w->next = list;
  list = w;
  pthread_mutex_unlock(&mutex);
  return 0;
}

/* No more to `to`, which may be unmapped then. */
void mg_unwatch(const uint64_t *to)
{
  pthread_mutex_lock(&mutex);
  struct watched **at = &list;
  while (*at && (*at)->to != to)
    at = &(*at)->next;
  struct watched *gone = *at;
  if (gone)
    *at = gone->next;
  pthread_mutex_unlock(&mutex);
  free(gone);
}

static uint64_t rate_of(struct pg_pacer *const *at)
{
  return (uint64_t)(pg_pacer_rate(__atomic_load_n(at, __ATOMIC_ACQUIRE)) + 0.5);
}

/* The lower of the queue's rate and its device's. */
static uint64_t limit_of(const struct mg_queue *q)
{
  uint64_t own = rate_of(&q->pacer), all = rate_of(&q->device->pacer);
  return own == 0 || (all > 0 && all < own) ? all : own;
}

static void copy(const struct watched *w)
{
  struct port_stats s;
  struct timespec t;
  if (w->what == MG_WATCH_COUNT)
    *w->to = __atomic_load_n((const uint64_t *)w->of, __ATOMIC_RELAXED);
  else if (w->what == MG_WATCH_MISSED && mg_device_stats(w->of, &s) == 0)
    *w->to = s.imissed + s.rx_nombuf;
  else if (w->what == MG_WATCH_LIMIT)
    *w->to = limit_of(w->of);
  else if (w->what == MG_WATCH_THREAD && clock_gettime(w->clock, &t) == 0)
    *w->to = t.tv_sec * 1000000000ull + t.tv_nsec; /* fails when it has ended */
}

/* Copy all that is watched. */
void mg_watch_copy(void)
{
  pthread_mutex_lock(&mutex);
  for (const struct watched *w = list; w; w = w->next)
    copy(w);
  pthread_mutex_unlock(&mutex);
}
