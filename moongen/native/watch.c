/* SPDX-License-Identifier: Apache-2.0
 *
 * For who watches a script. Counts that queues and threads have anyway are copied to
 * shared memory, some times a second, by the tender: nobody who moves packets does
 * anything for it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"

struct watched {
  struct watched *next;
  uint64_t *to;                   /* in shared memory */
  const uint64_t *from;           /* a count, */
  const struct mg_device *device; /* or what this device lost, */
  const struct mg_queue *queue;   /* or the rate it is limited to, */
  clockid_t clock;                /* or a thread's CPU time, in ns */
};

static struct watched *list;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* 0, or -1 without memory. */
static int add(struct watched what)
{
  struct watched *w = malloc(sizeof *w);
  if (!w)
    return -1;
  *w = what;
  pthread_mutex_lock(&mutex);
  w->next = list;
  list = w;
  pthread_mutex_unlock(&mutex);
  return 0;
}

/* Copy `from`, which stays, to `to` from now on. 0, or -1 without memory. */
int32_t mg_watch_count(const uint64_t *from, uint64_t *to)
{
  return add((struct watched){.from = from, .to = to});
}

/* The packets that came to the device and that no queue got. */
int32_t mg_watch_missed(const struct mg_device *d, uint64_t *to)
{
  return add((struct watched){.device = d, .to = to});
}

/* The rate that the queue to send to is limited to in software: bit/s with 4 bytes of
 * CRC a packet, 0 if there is none. */
int32_t mg_watch_limit(const struct mg_queue *q, uint64_t *to)
{
  return add((struct watched){.queue = q, .to = to});
}

/* The CPU time of the thread that calls this. */
int32_t mg_watch_this_thread(uint64_t *to)
{
  clockid_t clock;
  if (pthread_getcpuclockid(pthread_self(), &clock) != 0)
    return -1;
  return add((struct watched){.clock = clock, .to = to});
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

static bool is_thread(const struct watched *w)
{
  return !w->from && !w->device && !w->queue;
}

static void copy(const struct watched *w)
{
  struct port_stats s;
  struct timespec t;
  if (w->from)
    *w->to = __atomic_load_n(w->from, __ATOMIC_RELAXED);
  else if (w->device && mg_device_stats(w->device, &s) == 0)
    *w->to = s.imissed + s.rx_nombuf;
  else if (w->queue)
    *w->to = limit_of(w->queue);
  else if (is_thread(w) && clock_gettime(w->clock, &t) == 0) /* fails: it has ended */
    *w->to = t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Copy all that is watched. */
void mg_watch_copy(void)
{
  pthread_mutex_lock(&mutex);
  for (const struct watched *w = list; w; w = w->next)
    copy(w);
  pthread_mutex_unlock(&mutex);
}
