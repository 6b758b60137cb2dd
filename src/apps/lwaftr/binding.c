/* SPDX-License-Identifier: Apache-2.0
 *
 * Binding tables that are in use, known to all threads by number. Swapping a table is
 * a store; the old one is freed by a thread of its own, the keeper, when no reader can
 * have it any more (rte_rcu_qsbr): to free a million softwires takes milliseconds.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_common.h>

#include "../../native/signals.h"
#include "binding.h"

enum { MOST_BINDINGS = 256, WAIT_US = 500 };

struct retired {
  struct retired *next;
  struct lwaftr_binding *binding;
  struct softwire_table *table;
  uint64_t token;            /* readers that have come as far don't have it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for these, and `taken` */
static struct lwaftr_binding *bindings[MOST_BINDINGS];
static struct retired *queue, **queue_end = &queue;
static bool keeper_runs;
static sem_t work;

static struct rte_rcu_qsbr *new_readers(void)
{
  size_t size = RTE_ALIGN(rte_rcu_qsbr_get_memsize(MOST_READERS), RTE_CACHE_LINE_SIZE);
  struct rte_rcu_qsbr *readers = aligned_alloc(RTE_CACHE_LINE_SIZE, size);
  if (readers && rte_rcu_qsbr_init(readers, MOST_READERS) != 0) {
    free(readers);
    return NULL;
  }
  return readers;
}

/* A binding whose table is `table`, and that frees it; NULL if there is no memory, or
 * there are 256 already. */
struct lwaftr_binding *pg_binding_new(struct softwire_table *table)
{
  struct lwaftr_binding *binding = calloc(1, sizeof *binding);
  if (!binding || !(binding->readers = new_readers())) {
    free(binding);
    return NULL;
  }
  pg_softwires_share(table);
  atomic_store(&binding->table, table);
  atomic_store(&binding->users, 1);
  binding->id = -1;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST_BINDINGS && binding->id < 0; i++)
    if (!bindings[i]) {
      bindings[i] = binding;
      binding->id = i;
    }
  pthread_mutex_unlock(&lock);
  if (binding->id >= 0)
    return binding;
  free(binding->readers);
  free(binding);
  return NULL;
}

/* The binding of this number, which the caller releases; NULL if there is none. */
struct lwaftr_binding *pg_binding_find(int id)
{
  struct lwaftr_binding *binding = NULL;
  pthread_mutex_lock(&lock);
  if (id >= 0 && id < MOST_BINDINGS && (binding = bindings[id]))
    atomic_fetch_add(&binding->users, 1);
  pthread_mutex_unlock(&lock);
  return binding;
}

int pg_binding_id(const struct lwaftr_binding *binding)
{
  return binding->id;
}

/* It is no longer needed by one who has it from pg_binding_new or pg_binding_find. */
void pg_binding_release(struct lwaftr_binding *binding)
{
  pthread_mutex_lock(&lock);
  bool last = atomic_fetch_sub(&binding->users, 1) == 1;
  if (last)
    bindings[binding->id] = NULL;
  pthread_mutex_unlock(&lock);
  if (!last)
    return;
  pg_softwires_free(atomic_load(&binding->table));
  free(binding->readers);
  free(binding);
}

/* Let `path` look things up in the binding; false if too many do. */
bool pg_binding_join(struct lwaftr_binding *binding, struct lwaftr_path *path)
{
  pthread_mutex_lock(&lock);
  uint32_t i = 0;
  while (i < MOST_READERS && binding->taken[i / 64] >> i % 64 & 1)
    i++;
  bool room = i < MOST_READERS;
  if (room) {
    binding->taken[i / 64] |= 1ull << i % 64;
    rte_rcu_qsbr_thread_register(binding->readers, i);
    path->binding = binding;
    path->reader = i;
    memcpy(path->macs4 + 12, "\x08\x00", 2);
    memcpy(path->macs6 + 12, "\x86\xdd", 2);
    atomic_fetch_add(&binding->users, 1);
  }
  pthread_mutex_unlock(&lock);
  return room;
}

void pg_binding_part(struct lwaftr_path *path)
{
  pthread_mutex_lock(&lock);
  rte_rcu_qsbr_thread_unregister(path->binding->readers, path->reader);
  path->binding->taken[path->reader / 64] &= ~(1ull << path->reader % 64);
  pthread_mutex_unlock(&lock);
  pg_binding_release(path->binding);
  path->binding = NULL;
}

/* The keeper -------------------------------------------------------------- */

static struct retired *next_retired(void)
{
  pthread_mutex_lock(&lock);
  struct retired *first = queue;
  if (first && !(queue = first->next))
    queue_end = &queue;
  pthread_mutex_unlock(&lock);
  return first;
}

static void *keep(void *arg)
{
  for (;;) {
    while (sem_wait(&work) != 0)
      ;
    struct retired *r = next_retired();
    while (rte_rcu_qsbr_check(r->binding->readers, r->token, false) == 0)
      usleep(WAIT_US);
    pg_softwires_free(r->table);
    pg_binding_release(r->binding);
    free(r);
  }
  return arg;
}

static bool start_keeper(void)
{
  pthread_t thread;
  if (keeper_runs)
    return true;
  sem_init(&work, 0, 0);
  keeper_runs = pg_thread_start_anywhere(&thread, keep, NULL) == 0;
  if (keeper_runs)
    pthread_detach(thread);
  return keeper_runs;
}

/* Have `table` looked things up in from now on, and the old one freed when nobody has
 * it any more; false if there is no memory: then all is as before. One thread swaps. */
bool pg_binding_swap(struct lwaftr_binding *binding, struct softwire_table *table)
{
  struct retired *r = malloc(sizeof *r);
  if (!r || !start_keeper()) {
    free(r);
    return false;
  }
  pg_softwires_share(table);
  atomic_fetch_add(&binding->users, 1);
  *r = (struct retired){.binding = binding,
                        .table = atomic_exchange(&binding->table, table)};
  r->token = rte_rcu_qsbr_start(binding->readers);
  pthread_mutex_lock(&lock);
  *queue_end = r;
  queue_end = &r->next;
  pthread_mutex_unlock(&lock);
  sem_post(&work);
  return true;
}
