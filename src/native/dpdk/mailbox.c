/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between two threads (mailbox.h).
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mailbox.h"

struct message {
  struct message *next;
  uint64_t size;
  char data[];
};

void pg_mailbox_init(struct mailbox *box, int32_t *waiting)
{
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&box->lock, NULL);
  pthread_cond_init(&box->filled, &clock);
  pthread_condattr_destroy(&clock);
  box->first = NULL;
  box->end = &box->first;
  box->waiting = waiting;
}

static void add_to(int32_t *waiting, int32_t n)
{
  __atomic_fetch_add(waiting, n, __ATOMIC_RELEASE);
}

/* Take the first message off; the lock is held. */
static struct message *unlink_first(struct mailbox *box)
{
  struct message *m = box->first;
  if (!m)
    return NULL;
  box->first = m->next;
  if (!box->first)
    box->end = &box->first;
  add_to(box->waiting, -1);
  return m;
}

/* Free what is left; nobody may use the box any more. */
void pg_mailbox_clear(struct mailbox *box)
{
  struct message *m;
  while ((m = unlink_first(box)))
    free(m);
  pthread_cond_destroy(&box->filled);
  pthread_mutex_destroy(&box->lock);
}

/* Copy a message into the box; false if there is no memory. */
bool pg_mailbox_put(struct mailbox *box, const char *data, uint64_t size)
{
  struct message *m = malloc(sizeof *m + size);
  if (!m)
    return false;
  m->next = NULL;
  m->size = size;
  memcpy(m->data, data, size);
  pthread_mutex_lock(&box->lock);
  *box->end = m;
  box->end = &m->next;
  add_to(box->waiting, 1);
  pthread_cond_signal(&box->filled);
  pthread_mutex_unlock(&box->lock);
  return true;
}

/* Bytes of the first message, or -1 if there is none. */
int64_t pg_mailbox_next(struct mailbox *box)
{
  pthread_mutex_lock(&box->lock);
  int64_t size = box->first ? (int64_t)box->first->size : -1;
  pthread_mutex_unlock(&box->lock);
  return size;
}

/* Copy the first message out, and remove it. */
void pg_mailbox_take(struct mailbox *box, char *to)
{
  pthread_mutex_lock(&box->lock);
  struct message *m = unlink_first(box);
  pthread_mutex_unlock(&box->lock);
  if (m)
    memcpy(to, m->data, m->size);
  free(m);
}

/* Sleep until there is a message, or for so long. */
void pg_mailbox_wait(struct mailbox *box, double seconds)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  double end = until.tv_sec + until.tv_nsec * 1e-9 + seconds;
  until.tv_sec = (time_t)end;
  until.tv_nsec = (long)((end - (double)until.tv_sec) * 1e9);
  pthread_mutex_lock(&box->lock);
  while (!box->first &&
         pthread_cond_timedwait(&box->filled, &box->lock, &until) == 0)
    ;
  pthread_mutex_unlock(&box->lock);
}
