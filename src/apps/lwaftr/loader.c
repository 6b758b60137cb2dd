/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that reads a configuration, so that packets move on meanwhile: a million
 * softwires take a second. It has a Lua state of its own, in which
 * apps.lwaftr.loader_thread runs.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "../../native/api.h"
#include "../../native/signals.h"
#include "lwaftr.h"

struct hidden {
  struct lwaftr_load load;   /* what Lua sees; first */
  pthread_t thread;
  char *path, *cpath;
};

static void set_path(lua_State *L, const char *field, const char *value)
{
  lua_getglobal(L, "package");
  lua_pushstring(L, value);
  lua_setfield(L, -2, field);
  lua_pop(L, 1);
}

/* Say what came of it: `length` bytes, which are copied. */
void pg_load_say(struct lwaftr_load *load, bool good, const char *text, uint32_t length)
{
  load->text = malloc(length + 1);
  load->length = load->text ? length : 0;
  if (load->text)
    memcpy(load->text, text, length);
  load->good = good && load->text;
}

static void *run(void *arg)
{
  struct hidden *h = arg;
  lua_State *L = luaL_newstate();
  if (L) {
    luaL_openlibs(L);
    set_path(L, "path", h->path);
    set_path(L, "cpath", h->cpath);
    lua_getglobal(L, "require");
    lua_pushstring(L, "apps.lwaftr.loader_thread");
    int status = lua_pcall(L, 1, 1, 0);
    if (status == 0) {
      lua_pushlightuserdata(L, &h->load);
      status = lua_pcall(L, 1, 0, 0);
    }
    if (status != 0) {
      size_t length;
      const char *text = lua_tolstring(L, -1, &length);
      pg_load_say(&h->load, false, text ? text : "", text ? (uint32_t)length : 0);
    }
    lua_close(L);
  }
  __atomic_store_n(&h->load.done, true, __ATOMIC_RELEASE);
  return NULL;
}

/* Begin to read the file; `path` and `cpath` are Lua's. NULL if there is no memory or
 * no thread to be had. */
struct lwaftr_load *pg_load_start(const char *file, const char *path, const char *cpath)
{
  struct hidden *h = calloc(1, sizeof *h);
  if (!h)
    return NULL;
  h->load.file = strdup(file);
  h->path = strdup(path);
  h->cpath = strdup(cpath);
  if (h->load.file && h->path && h->cpath &&
      pg_thread_start(&h->thread, NULL, run, h) == 0)
    return &h->load;
  h->load.done = true;
  h->thread = 0;
  pg_load_free(&h->load);
  return NULL;
}

bool pg_load_done(const struct lwaftr_load *load)
{
  return __atomic_load_n(&load->done, __ATOMIC_ACQUIRE);
}

/* Waits for the thread. A table that nobody took is freed. */
void pg_load_free(struct lwaftr_load *load)
{
  struct hidden *h = (struct hidden *)load;
  if (h->thread)
    pthread_join(h->thread, NULL);
  pg_softwires_free(load->table);
  free(load->text);
  free(load->file);
  free(h->path);
  free(h->cpath);
  free(h);
}
