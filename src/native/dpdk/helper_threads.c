/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that wake often, and briefly, kept off the CPUs of threads that need theirs all
 * the time, while there are others: whenever one woke there, a paced sender would be late.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "../spin.h"
#include "../threads.h"

struct helper {
  struct helper *next;
  pid_t thread;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;   /* whose destructor takes a thread that ends off the list */
static struct helper *list;
static cpu_set_t where;
static bool is_limited;

static void forget(void *helper)
{
  pthread_mutex_lock(&mutex);
  struct helper **at = &list;
  while (*at && *at != helper)
    at = &(*at)->next;
  if (*at)
    *at = (*at)->next;
  pthread_mutex_unlock(&mutex);
  free(helper);
}

static void make_key(void)
{
  pthread_key_create(&key, forget);
}

/* The calling thread is one of them from now on. Without memory it isn't, which only
 * makes senders less exact. */
void pg_helper_thread(void)
{
  pthread_once(&once, make_key);
  struct helper *h = pthread_getspecific(key) ? NULL : malloc(sizeof *h);
  if (!h)
    return;
  h->thread = gettid();
  pthread_setspecific(key, h);
  pthread_mutex_lock(&mutex);
  h->next = list;
  list = h;
  if (is_limited)
    sched_setaffinity(h->thread, sizeof where, &where);
  pthread_mutex_unlock(&mutex);
}

/* They may use these CPUs. One that can't be kept there stays where it was. */
void pg_helper_threads_on(const int32_t *cpus, int32_t n)
{
  pthread_mutex_lock(&mutex);
  CPU_ZERO(&where);
  for (int32_t i = 0; i < n; i++)
    CPU_SET(cpus[i], &where);
  is_limited = true;
  for (struct helper *h = list; h; h = h->next)
    sched_setaffinity(h->thread, sizeof where, &where);
  pthread_mutex_unlock(&mutex);
}

void pg_lock(int32_t *lock) { pg_spin_lock(lock); }
void pg_unlock(int32_t *lock) { pg_spin_unlock(lock); }
