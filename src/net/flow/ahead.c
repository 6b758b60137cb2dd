/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that touches memory before a packet's thread does, one for the process. Where
 * it comes late, or there is none (before DPDK is started), the other one waits for the
 * page itself. It runs on the CPUs that DPDK's control threads have: where the process has
 * but one, packets wait nevertheless.
 *
 * Files' memory is in small pages as a rule. The thread has the kernel make large ones
 * (MADV_COLLAPSE, Linux 6.1), which takes no setting and no privilege. While it does nobody
 * gets at them, so those that are in use stay small.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_lcore.h>
#include <rte_thread.h>
#include <rte_version.h>

#include "ahead.h"

enum { SMALL_PAGE = 4096, MOST_JOBS = 64, COLLAPSE = 25 /* MADV_COLLAPSE */ };

/* Of a file: `memory`, and where in it that is. */
struct job { uint8_t *at; uint64_t bytes, from; struct flow_memory *memory; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static struct job jobs[MOST_JOBS], current;
static int waiting;
static struct flow_fills fills;
static enum { NOT_YET, RUNS, NONE } thread;

/* Whoever writes there meanwhile loses nothing. */
void pg_flow_touch(uint8_t *at, uint64_t bytes)
{
  for (uint64_t i = 0; i < bytes; i += SMALL_PAGE)
    __atomic_fetch_or(at + i, 0, __ATOMIC_RELAXED);
}

/* Have a part of a file in a large page, unless it is in use; the outcome is counted. */
static void fill(const struct job *j)
{
  const struct flow_memory *m = j->memory;
  uint32_t *outcome = &fills.late, error = 0;
  uint64_t usable = __atomic_load_n(&m->usable, __ATOMIC_RELAXED);
  if (usable <= j->from && /* from there on: a file never has a hole */
      !posix_fallocate(m->file - 1, (off_t)(m->begin + usable),
                       (off_t)(j->from + j->bytes - usable))) {
    if (madvise(j->at, j->bytes, COLLAPSE))
      error = (uint32_t)errno;
    outcome = error ? &fills.failed : &fills.large;
  }
  pthread_mutex_lock(&lock);
  ++*outcome;
  if (error)
    fills.error = error;
  pthread_mutex_unlock(&lock);
}

struct flow_fills pg_flow_fills(void)
{
  pthread_mutex_lock(&lock);
  struct flow_fills now = fills;
  pthread_mutex_unlock(&lock);
  now.no_room = __atomic_load_n(&fills.no_room, __ATOMIC_RELAXED);
  return now;
}

void pg_flow_note_no_room(int error)
{
  __atomic_store_n(&fills.no_room, (uint32_t)error, __ATOMIC_RELAXED);
}

static void serve(void)
{
  pthread_mutex_lock(&lock);
  for (;;) {
    while (waiting == 0)
      pthread_cond_wait(&work, &lock);
    current = jobs[0];
    memmove(jobs, jobs + 1, (size_t)--waiting * sizeof *jobs);
    pthread_mutex_unlock(&lock);
    if (current.memory)
      fill(&current);
    else
      pg_flow_touch(current.at, current.bytes);
    pthread_mutex_lock(&lock);
    current = (struct job){0};
    pthread_cond_broadcast(&done);
  }
}

#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
static uint32_t run(void *unused)
{
  (void)unused;
  serve();
  return 0;
}

static bool start(void)
{
  rte_thread_t id;
  return rte_thread_create_control(&id, "pg-touch", run, NULL) == 0;
}
#else
static void *run(void *unused)
{
  serve();
  return unused;
}

static bool start(void)
{
  pthread_t id;
  return rte_ctrl_thread_create(&id, "pg-touch", NULL, run, NULL) == 0;
}
#endif

/* A child that was forked has no such thread. */
static void forget_all(void)
{
  pthread_mutex_init(&lock, NULL);
  pthread_cond_init(&work, NULL);
  pthread_cond_init(&done, NULL);
  current = (struct job){0};
  waiting = 0;
  thread = NONE;
}

/* Before the first packet: starting a thread takes its time. */
void pg_flow_touch_begin(void)
{
  pthread_mutex_lock(&lock);
  if (thread == NOT_YET && rte_lcore_count() > 0) {
    pthread_atfork(NULL, NULL, forget_all);
    thread = start() ? RUNS : NONE;
  }
  pthread_mutex_unlock(&lock);
}

static void add_job(struct job job)
{
  pthread_mutex_lock(&lock);
  if (thread == RUNS && waiting < MOST_JOBS) {
    jobs[waiting++] = job;
    fills.asked += job.memory != NULL;
    pthread_cond_signal(&work);
  }
  pthread_mutex_unlock(&lock);
}

/* Touch these bytes, which are memory until pg_flow_touch_forget(), some time soon. */
void pg_flow_touch_ahead(uint8_t *at, uint64_t bytes)
{
  add_job((struct job){.at = at, .bytes = bytes});
}

/* Have these bytes of a file, a large page, some time soon, until
 * pg_flow_touch_forget(). */
void pg_flow_fill_ahead(struct flow_memory *m, uint64_t from, uint64_t bytes)
{
  add_job((struct job){m->at + from, bytes, from, m});
}

/* Touch nothing there any more. */
void pg_flow_touch_forget(uint8_t *at, uint64_t bytes)
{
  pthread_mutex_lock(&lock);
  int kept = 0;
  for (int i = 0; i < waiting; i++)
    if (jobs[i].at < at || jobs[i].at >= at + bytes)
      jobs[kept++] = jobs[i];
  waiting = kept;
  while (current.at && current.at >= at && current.at < at + bytes)
    pthread_cond_wait(&done, &lock);
  pthread_mutex_unlock(&lock);
}
