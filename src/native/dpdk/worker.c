/* SPDX-License-Identifier: Apache-2.0
 *
 * Workers: threads that DPDK knows, each on a CPU of its own (or on any) and with a Lua
 * state, in which a module runs: core/cpus/worker_main.lua, an engine over a part of
 * the graph.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "../api.h"
#include "../signals.h"
#include "clock.h"
#include "internal.h"
#include "mailbox.h"

struct hidden {
  struct worker worker; /* what Lua sees; first */
  struct mailbox boxes[2];
  pthread_t thread;
  int32_t pinned_to, bell; /* 0: its thread hasn't begun, or ends */
  char *module, *path, *cpath;
};

static struct hidden *hidden(struct worker *w)
{
  return (struct hidden *)w;
}

static void set_path(lua_State *L, const char *field, const char *value)
{
  lua_getglobal(L, "package");
  lua_pushstring(L, value);
  lua_setfield(L, -2, field);
  lua_pop(L, 1);
}

static int failed(struct hidden *h, const char *why)
{
  char text[600];
  int n = snprintf(text, sizeof text, "!%s", why ? why : "no reason given");
  pg_mailbox_put(&h->boxes[FROM_WORKER], text, RTE_MIN(n, (int)sizeof text - 1));
  return -1;
}

/* Run the module's function, which returns when the worker is to end. */
static int run_lua(struct hidden *h)
{
  lua_State *L = luaL_newstate();
  int status = 0;
  if (!L)
    return failed(h, "no memory for a Lua state");
  pg_watch_state(L);
  pg_name_panics(L);
  luaL_openlibs(L);
  pg_open_files(L);
  set_path(L, "path", h->path);
  set_path(L, "cpath", h->cpath);
  pg_use_bytecode(L);
  lua_getglobal(L, "require");
  lua_pushstring(L, h->module);
  if (lua_pcall(L, 1, 1, 0) == 0) {
    lua_pushlightuserdata(L, &h->worker);
    status = lua_pcall(L, 1, 0, 0);
  } else {
    status = -1;
  }
  if (status != 0)
    failed(h, lua_tostring(L, -1));
  pg_watch_state(NULL);
  lua_close(L);
  return status;
}

static void *run(void *arg)
{
  struct hidden *h = arg;
  pg_clock_enter(&h->worker);
  __atomic_store_n(&h->worker.tid, gettid(), __ATOMIC_RELEASE);
  __atomic_store_n(&h->bell, pg_wait_bell(), __ATOMIC_RELEASE);
  if (rte_thread_register() < 0) {
    failed(h, rte_strerror(rte_errno));
  } else {
    run_lua(h);
    pg_gcm_leave();
    pg_freelist_spill(&h->worker.account, h->worker.account.nfree);
    pg_pool_leave();
    rte_thread_unregister();
  }
  __atomic_store_n(&h->bell, 0, __ATOMIC_RELEASE);
  pg_clock_leave();
  __atomic_store_n(&h->worker.ended, 1, __ATOMIC_RELEASE);
  return NULL;
}

static int start_thread(struct hidden *h)
{
  pthread_attr_t attributes;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  pthread_attr_init(&attributes);
  if (h->pinned_to >= 0) {
    CPU_SET(h->pinned_to, &cpus);
    pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus);
  }
  int error = pg_thread_start(&h->thread, &attributes, run, h);
  pthread_attr_destroy(&attributes);
  return error;
}

static void release(struct hidden *h)
{
  pg_mailbox_clear(&h->boxes[TO_WORKER]);
  pg_mailbox_clear(&h->boxes[FROM_WORKER]);
  free(h->module);
  free(h->path);
  free(h->cpath);
  free(h);
}

/* Start a worker with these paths for Lua, on the CPU `pinned_to` (-1: on those of this
 * thread), for the function that the Lua `module` returns; NULL and pg_error() if it
 * can't be. */
struct worker *pg_worker_start(int32_t cpu, int32_t pinned_to, const char *module,
                               const char *path, const char *cpath)
{
  struct hidden *h = aligned_alloc(RTE_CACHE_LINE_SIZE,
                                   RTE_ALIGN(sizeof *h, RTE_CACHE_LINE_SIZE));
  char name[16];
  if (!h) {
    pg_fail("no memory for a worker");
    return NULL;
  }
  memset(h, 0, sizeof *h);
  h->worker.cpu = cpu;
  h->worker.account.max = FREELIST_SIZE;
  h->worker.account.node = pinned_to >= 0 ? pg_numa_of_cpu(pinned_to) : -1;
  h->pinned_to = pinned_to;
  h->module = strdup(module);
  h->path = strdup(path);
  h->cpath = strdup(cpath);
  for (int to = 0; to < 2; to++)
    pg_mailbox_init(&h->boxes[to], &h->worker.waiting[to]);
  int error = start_thread(h);
  if (error) {
    if (pinned_to < 0)
      pg_fail("no thread can be started: %s", strerror(error));
    else
      pg_fail("a thread on CPU %d: %s", pinned_to, strerror(error));
    release(h);
    return NULL;
  }
  snprintf(name, sizeof name, "cpu%d", cpu);
  pthread_setname_np(h->thread, name);
  return &h->worker;
}

/* Wait for the worker's thread to end. */
void pg_worker_join(struct worker *w)
{
  pthread_join(hidden(w)->thread, NULL);
}

/* Free it, when its thread has ended. */
void pg_worker_free(struct worker *w)
{
  release(hidden(w));
}

/* Has the thread ended? */
bool pg_worker_ended(const struct worker *w)
{
  return __atomic_load_n(&w->ended, __ATOMIC_ACQUIRE);
}

/* The mailboxes to and from the worker: TO_WORKER, FROM_WORKER (mailbox.c). */
bool pg_worker_post(struct worker *w, int to, const char *data, uint64_t size)
{
  bool put = pg_mailbox_put(&hidden(w)->boxes[to], data, size);
  pg_wait_ring(to == TO_WORKER ? __atomic_load_n(&hidden(w)->bell, __ATOMIC_ACQUIRE)
                               : pg_main_reader.bell);
  return put;
}

int64_t pg_worker_next(struct worker *w, int to)
{
  return pg_mailbox_next(&hidden(w)->boxes[to]);
}

void pg_worker_take(struct worker *w, int to, char *data)
{
  pg_mailbox_take(&hidden(w)->boxes[to], data);
}

void pg_worker_wait(struct worker *w, int to, double seconds)
{
  pg_mailbox_wait(&hidden(w)->boxes[to], seconds);
}
