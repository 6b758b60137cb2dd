/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules that `make` has compiled (tools/bytecode.lua): require() takes one of them if
 * the file in the tree is still the one that it was made from. To read a module's text
 * takes eight times as long.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>

#include "../api.h"
#include "internal.h"

struct compiled {
  const char *path; /* below the tree, ends with a space */
  long long size, seconds; /* of its text; when it was changed */
  const char *code;
  size_t length;
};

/* Set once, before there are other threads. */
static struct {
  char root[PATH_MAX];
  size_t root_length, n;
  struct compiled *list; /* by path */
} modules;

static char *map(const char *path, size_t *size)
{
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  char *text = MAP_FAILED;
  if (fd < 0)
    return NULL;
  if (fstat(fd, &st) == 0 && st.st_size > 0) {
    *size = (size_t)st.st_size;
    text = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
  }
  close(fd);
  return text == MAP_FAILED ? NULL : text;
}

/* A number at *at, which ends with `end`; -1 if there is none before `stop`. */
static long long number(const char **at, const char *stop, char end)
{
  long long n = 0;
  const char *p = *at;
  while (p < stop && *p >= '0' && *p <= '9' && n < LLONG_MAX / 100)
    n = n * 10 + (*p++ - '0');
  if (p == *at || p == stop || *p != end)
    return -1;
  *at = p + 1;
  return n;
}

/* Does the line at *at say `text`? */
static bool line_is(const char **at, const char *stop, const char *text)
{
  size_t n = strlen(text);
  if ((size_t)(stop - *at) <= n || memcmp(*at, text, n) != 0 || (*at)[n] != '\n')
    return false;
  *at += n + 1;
  return true;
}

/* The lines "PATH SIZE SECONDS LENGTH", and what they are about behind them. */
static bool read_index(const char *at, const char *stop, long long n)
{
  if (n < 0 || n > stop - at)
    return false;
  struct compiled *list = calloc((size_t)n + 1, sizeof *list);
  size_t total = 0;
  long long i = 0;
  for (; list && i < n; i++) {
    const char *space = memchr(at, ' ', (size_t)(stop - at));
    if (!space)
      break;
    list[i].path = at;
    at = space + 1;
    list[i].size = number(&at, stop, ' ');
    list[i].seconds = number(&at, stop, ' ');
    long long length = number(&at, stop, '\n');
    if (list[i].size < 0 || list[i].seconds < 0 || length < 0)
      break;
    list[i].length = (size_t)length;
    total += list[i].length;
  }
  if (!list || i < n || total != (size_t)(stop - at)) {
    free(list);
    return false;
  }
  for (i = 0; i < n; at += list[i++].length)
    list[i].code = at;
  modules.list = list;
  modules.n = (size_t)n;
  return true;
}

static bool use(const char *path, const char *root, const char *version)
{
  size_t size = 0;
  char *text = map(path, &size);
  if (!text)
    return false;
  const char *at = text, *stop = text + size;
  if (line_is(&at, stop, "perigee bytecode 1") && line_is(&at, stop, version)
      && line_is(&at, stop, root)) {
    long long n = number(&at, stop, '\n');
    if (read_index(at, stop, n))
      return true;
  }
  munmap(text, size);
  return false;
}

/* Has the module's path the name `file`, which ends with '\0'? */
static int compare(const void *file, const void *element)
{
  const struct compiled *c = element;
  const char *a = file, *b = c->path;
  while (*a && *a == *b)
    a++, b++;
  return (unsigned char)*a - (*b == ' ' ? 0 : (unsigned char)*b);
}

static const struct compiled *find(const char *file)
{
  if (strncmp(file, modules.root, modules.root_length) != 0
      || file[modules.root_length] != '/')
    return NULL;
  return bsearch(file + modules.root_length + 1, modules.list, modules.n,
                 sizeof *modules.list, compare);
}

/* The template with the module's name in the place of '?'; false: it is too long. */
static bool fill_in(char *file, size_t room, const char *at, const char *end,
                    const char *name)
{
  char *to = file, *last = file + room - 1;
  for (; at < end; at++) {
    if (*at != '?') {
      if (to == last)
        return false;
      *to++ = *at;
      continue;
    }
    for (const char *c = name; *c; c++) {
      if (to == last)
        return false;
      *to++ = *c == '.' ? '/' : *c;
    }
  }
  *to = '\0';
  return true;
}

/* As Lua's own searcher goes through package.path. Nil, and that one goes on, unless
 * the first file that there is has been compiled, and hasn't changed. */
static int search(lua_State *L)
{
  const char *name = luaL_checkstring(L, 1);
  char file[PATH_MAX];
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "path");
  const char *path = lua_tostring(L, -1);
  for (const char *at = path, *end; at; at = *end ? end + 1 : NULL) {
    struct stat st;
    end = strchrnul(at, ';');
    if (!fill_in(file, sizeof file, at, end, name) || stat(file, &st) != 0)
      continue;
    const struct compiled *c = find(file);
    if (c && st.st_size == c->size && st.st_mtime == c->seconds
        && luaL_loadbuffer(L, c->code, c->length, file) == 0)
      return 1;
    break;
  }
  lua_pushnil(L);
  return 1;
}

void pg_find_bytecode(const char *root, const char *version)
{
  static const char *const places[] = {"modules.bytecode", "build/modules.bytecode"};
  char path[PATH_MAX + 64];
  snprintf(modules.root, sizeof modules.root, "%s", root);
  modules.root_length = strlen(modules.root);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    snprintf(path, sizeof path, "%s/%s", root, places[i]);
    if (use(path, root, version))
      return;
  }
}

void pg_use_bytecode(lua_State *L)
{
  if (modules.n == 0)
    return;
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "loaders");
  for (int i = (int)lua_objlen(L, -1); i >= 2; i--) {
    lua_rawgeti(L, -1, i);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushcfunction(L, search);
  lua_rawseti(L, -2, 2);
  lua_pop(L, 2);
}
