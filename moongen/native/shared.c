/* SPDX-License-Identifier: Apache-2.0
 *
 * What tasks share: locks, barriers, and namespaces (tables of strings by name).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

/* Locks ------------------------------------------------------------------------ */

struct real_lock {
  struct lock seen;
  pthread_mutex_t mutex; /* whoever has it may take it again */
};

static void begin(struct real_lock *l)
{
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&l->mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

static pthread_mutex_t *mutex_of(struct lock *l)
{
  return &((struct real_lock *)l)->mutex;
}

/* These live as long as the process: other tasks may have pointers to them. */
struct lock *mg_lock_new(void)
{
  struct real_lock *l = calloc(1, sizeof *l);
  begin(l);
  return &l->seen;
}

void mg_lock(struct lock *l)
{
  if (pthread_mutex_trylock(mutex_of(l)) == 0)
    return;
  mg_give_caches(); /* others may want them before it is this one's */
  pthread_mutex_lock(mutex_of(l));
}

void mg_unlock(struct lock *l)
{
  pthread_mutex_unlock(mutex_of(l));
}

static struct timespec in_a_while(double microseconds)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  double end = t.tv_sec + t.tv_nsec * 1e-9 + microseconds * 1e-6;
  t.tv_sec = (time_t)end;
  t.tv_nsec = (long)((end - (double)t.tv_sec) * 1e9);
  return t;
}

/* Take it within so many microseconds (0: now): 1 or 0. */
int32_t mg_try_lock(struct lock *l, double microseconds)
{
  if (!(microseconds > 0))
    return pthread_mutex_trylock(mutex_of(l)) == 0;
  struct timespec until = in_a_while(microseconds);
  mg_give_caches();
  return pthread_mutex_timedlock(mutex_of(l), &until) == 0;
}

/* Barriers --------------------------------------------------------------------- */

struct real_barrier {
  struct barrier seen;
  pthread_mutex_t mutex;
  pthread_cond_t open;
  uint64_t missing; /* tasks that haven't come yet */
};

struct barrier *mg_barrier_new(uint64_t n)
{
  struct real_barrier *b = calloc(1, sizeof *b);
  pthread_mutex_init(&b->mutex, NULL);
  pthread_cond_init(&b->open, NULL);
  b->missing = n;
  return &b->seen;
}

/* Wait until all have come, or until the script is to end: one of them may have. */
void mg_barrier_wait(struct barrier *seen)
{
  struct real_barrier *b = (struct real_barrier *)seen;
  pthread_mutex_lock(&b->mutex);
  if (b->missing > 0 && --b->missing == 0)
    pthread_cond_broadcast(&b->open);
  while (b->missing > 0 && !mg_ended_for(1)) {
    struct timespec until = in_a_while(1e5);
    pthread_cond_timedwait(&b->open, &b->mutex, &until);
  }
  pthread_mutex_unlock(&b->mutex);
}

/* The next time, so many are to come. Nobody may be waiting. */
void mg_barrier_again(struct barrier *seen, uint64_t n)
{
  struct real_barrier *b = (struct real_barrier *)seen;
  pthread_mutex_lock(&b->mutex);
  b->missing = n;
  pthread_mutex_unlock(&b->mutex);
}

/* Namespaces ------------------------------------------------------------------- */

struct entry {
  struct entry *next;
  char *key, *value;
  uint64_t size;
};

struct real_namespace {
  struct namespace seen;
  struct real_lock lock;
  struct entry *entries; /* few, and not looked up often */
  struct real_namespace *next;
  char *name;
};

static struct real_namespace *namespaces;
static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER;

/* The namespace of this name, made if it isn't there. */
struct namespace *mg_namespace(const char *name)
{
  struct real_namespace *ns;
  pthread_mutex_lock(&naming);
  for (ns = namespaces; ns && strcmp(ns->name, name) != 0; ns = ns->next)
    ;
  if (!ns) {
    ns = calloc(1, sizeof *ns);
    begin(&ns->lock);
    ns->name = strdup(name);
    ns->next = namespaces;
    namespaces = ns;
  }
  pthread_mutex_unlock(&naming);
  return &ns->seen;
}

static struct real_namespace *real(struct namespace *ns)
{
  return (struct real_namespace *)ns;
}

struct lock *mg_namespace_lock(struct namespace *ns)
{
  return &real(ns)->lock.seen;
}

/* The place where the entry of that key hangs, or would. */
static struct entry **find(struct namespace *ns, const char *key)
{
  struct entry **at = &real(ns)->entries;
  while (*at && strcmp((*at)->key, key) != 0)
    at = &(*at)->next;
  return at;
}

void mg_namespace_store(struct namespace *ns, const char *key, const char *value,
                        uint64_t size)
{
  mg_lock(mg_namespace_lock(ns));
  struct entry **at = find(ns, key), *e = *at;
  if (!e) {
    e = *at = calloc(1, sizeof *e);
    e->key = strdup(key);
  }
  free(e->value);
  e->value = malloc(size ? size : 1);
  memcpy(e->value, value, size);
  e->size = size;
  mg_unlock(mg_namespace_lock(ns));
}

void mg_namespace_delete(struct namespace *ns, const char *key)
{
  mg_lock(mg_namespace_lock(ns));
  struct entry **at = find(ns, key), *e = *at;
  if (e) {
    *at = e->next;
    free(e->key);
    free(e->value);
    free(e);
  }
  mg_unlock(mg_namespace_lock(ns));
}

/* The value, valid while the caller has the lock; NULL if there is none. */
const char *mg_namespace_get(struct namespace *ns, const char *key, uint64_t *size)
{
  struct entry *e = *find(ns, key);
  if (!e)
    return NULL;
  *size = e->size;
  return e->value;
}

/* The key after that one (NULL: the first), while the caller has the lock. */
const char *mg_namespace_next(struct namespace *ns, const char *key)
{
  struct entry *e = real(ns)->entries;
  if (key) {
    e = *find(ns, key);
    e = e ? e->next : NULL;
  }
  return e ? e->key : NULL;
}
