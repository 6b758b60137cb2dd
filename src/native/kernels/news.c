/* SPDX-License-Identifier: Apache-2.0
 *
 * What copies of an app on several CPUs send each other: a ring of keys and values, of
 * which each copy reads what others have written since. One writes at a time, under a
 * lock; reading takes none. Who is slower than the ring's length misses the oldest.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../kernels.h"

enum { LENGTH = 8192, ASKED = 1024, LONGEST_NAME = 255 };

struct entry { uint64_t key, value; uint32_t who; };
struct question { uint64_t key; double time; };

struct board {
  struct news face; /* first: what Lua sees */
  struct board *next;
  int users;
  pthread_mutex_t lock;
  char name[LONGEST_NAME + 1];
  struct question asked[ASKED];
  struct entry entries[LENGTH];
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct board *all;

/* The news of that name, which this process's threads share; NULL without memory. */
struct news *pg_news_open(const char *name)
{
  pthread_mutex_lock(&all_lock);
  struct board *b = all;
  while (b && strncmp(b->name, name, LONGEST_NAME) != 0)
    b = b->next;
  if (!b && (b = calloc(1, sizeof(*b)))) {
    strncpy(b->name, name, LONGEST_NAME);
    pthread_mutex_init(&b->lock, NULL);
    b->next = all;
    all = b;
  }
  if (b)
    b->users++;
  pthread_mutex_unlock(&all_lock);
  return b ? &b->face : NULL;
}

/* The last one frees it. */
void pg_news_close(struct news *n)
{
  struct board *b = (struct board *)n;
  pthread_mutex_lock(&all_lock);
  if (--b->users == 0) {
    struct board **at = &all;
    while (*at != b)
      at = &(*at)->next;
    *at = b->next;
    pthread_mutex_destroy(&b->lock);
    free(b);
  }
  pthread_mutex_unlock(&all_lock);
}

/* The copy `who` tells the others. */
void pg_news_tell(struct news *n, uint32_t who, uint64_t key, uint64_t value)
{
  struct board *b = (struct board *)n;
  pthread_mutex_lock(&b->lock);
  struct entry *e = &b->entries[n->told % LENGTH];
  __atomic_store_n(&n->begun, n->told + 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  __atomic_store_n(&e->key, key, __ATOMIC_RELAXED);
  __atomic_store_n(&e->value, value, __ATOMIC_RELAXED);
  __atomic_store_n(&e->who, who, __ATOMIC_RELAXED);
  __atomic_store_n(&n->told, n->told + 1, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&b->lock);
}

/* The next that another than `who` has told, behind `*at`, which goes on. False: there is
 * no more. */
bool pg_news_next(struct news *n, uint32_t who, uint64_t *at, uint64_t *key,
                  uint64_t *value)
{
  struct board *b = (struct board *)n;
  uint64_t told = __atomic_load_n(&n->told, __ATOMIC_ACQUIRE);
  while (*at < told) {
    if (told - *at > LENGTH)
      *at = told - LENGTH;
    struct entry *e = &b->entries[*at % LENGTH];
    uint32_t from = __atomic_load_n(&e->who, __ATOMIC_RELAXED);
    *key = __atomic_load_n(&e->key, __ATOMIC_RELAXED);
    *value = __atomic_load_n(&e->value, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    /* Has a writer come round to it meanwhile? */
    bool whole = __atomic_load_n(&n->begun, __ATOMIC_RELAXED) - *at <= LENGTH;
    ++*at;
    if (whole && from != who)
      return true;
    if (!whole)
      told = __atomic_load_n(&n->told, __ATOMIC_ACQUIRE);
  }
  return false;
}

/* May a copy ask for the key now? Not if one has less than `pause` ago. Times are those
 * of a clock that all have. */
bool pg_news_may_ask(struct news *n, uint64_t key, double now, double pause)
{
  struct board *b = (struct board *)n;
  struct question *q = &b->asked[key * 0x9e3779b97f4a7c15u >> 54];
  pthread_mutex_lock(&b->lock);
  bool may = q->key != key || now >= q->time + pause || now < q->time;
  if (may)
    *q = (struct question){key, now};
  pthread_mutex_unlock(&b->lock);
  return may;
}
