/* SPDX-License-Identifier: Apache-2.0
 *
 * The host: a LuaJIT state that finds Perigee's Lua tree, next to the binary in
 * a checkout or under ../share/perigee once installed, and runs command_line.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "../api.h"
#include "../log.h"
#include "internal.h"

#ifndef PERIGEE_VERSION
#error "the Makefile passes PERIGEE_VERSION"
#endif

#ifdef __SANITIZE_ADDRESS__
/* What DPDK and LuaJIT keep to the end isn't lost. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
  return "detect_leaks=0";
}
#endif

static const char *const trees[] = {"", "/../share/perigee", NULL};

/* The folder with src/command_line.lua, in `root`; or 0, after saying why. */
static int find_tree(char *root, size_t size)
{
  char exe[PATH_MAX], file[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n < 0) {
    fprintf(stderr, "perigee: /proc/self/exe can't be read: %s; /proc has to be mounted "
            "(mount -t proc proc /proc)\n", strerror(errno));
    return 0;
  }
  exe[n] = '\0';
  *strrchr(exe, '/') = '\0';
  for (int i = 0; trees[i]; i++) {
    int length = snprintf(root, size, "%s%s", exe, trees[i]);
    if (length + sizeof "/src/command_line.lua" > sizeof file)
      break;
    strcat(strcpy(file, root), "/src/command_line.lua");
    if (access(file, R_OK) == 0)
      return 1;
    if (errno != ENOENT && errno != ENOTDIR) {
      fprintf(stderr, "perigee: %s can't be read: %s; let this user read the tree, or "
              "install it where all users can (make install)\n", file, strerror(errno));
      return 0;
    }
  }
  fprintf(stderr,
          "perigee: there is no Lua tree next to %s (looked for src and "
          "../share/perigee); run it from its checkout or from where "
          "`make install` put it\n", exe);
  return 0;
}

/* Take what is found from the working directory ("./?.lua") out of a path of Lua's: it
 * may be anybody's. What the environment asks for stays. */
static void leave_out_here(char *path, const char *asked_for)
{
  char *to = path;
  for (char *entry = path, *end; entry; entry = end ? end + 1 : NULL) {
    end = strchr(entry, ';');
    size_t size = end ? (size_t)(end - entry) : strlen(entry);
    char text[PATH_MAX];
    snprintf(text, sizeof text, "%.*s", (int)size, entry);
    bool absolute = entry[0] == '/';
    if (size == 0 || (!absolute && !(asked_for && strstr(asked_for, text))))
      continue;
    if (to > path)
      *to++ = ';';
    memmove(to, entry, size);
    to += size;
  }
  *to = '\0';
}

/* Where modules come from: package[field], behind `first`. */
static void set_path(lua_State *L, const char *field, const char *variable,
                     const char *first)
{
  lua_getglobal(L, "package");
  lua_getfield(L, -1, field);
  char *path = strdup(lua_tostring(L, -1));
  if (!path)
    abort();
  leave_out_here(path, getenv(variable));
  lua_pushfstring(L, "%s%s", first, path);
  lua_setfield(L, -3, field);
  lua_settop(L, 0);
  free(path);
}

/* A process with more rights than its user (by file capabilities, say) runs no code that
 * the environment names. */
static void distrust_environment(void)
{
  static const char *const variables[] = {"LUA_PATH", "LUA_CPATH", "LUA_INIT", NULL};
  for (int i = 0; getauxval(AT_SECURE) && variables[i]; i++)
    unsetenv(variables[i]);
}

static void find_bytecode(lua_State *L, const char *root)
{
  lua_getglobal(L, "jit");
  lua_getfield(L, -1, "version");
  pg_find_bytecode(root, lua_tostring(L, -1));
  lua_settop(L, 0);
  pg_use_bytecode(L);
}

static void set_field(lua_State *L, const char *key, const char *value)
{
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

/* What was said may be in a buffer still, and what couldn't be written may have been
 * lost long ago: stdio remembers that it was. However the process ends, it doesn't end
 * well then. */
static void check_output(void)
{
  errno = 0;
  int lost = ferror(stdout);
  if (fflush(stdout) == 0 && !lost)
    return;
  if (!errno && (fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY)
    errno = EBADF; /* as fill_descriptors() left it */
  pg_logf(LOG_ERROR, "standard output can't be written%s%s", errno ? ": " : "",
          errno ? strerror(errno) : " (is the disk full?)");
  _exit(1);
}

/* A standard descriptor that the parent closed is taken: else the next file that is
 * opened would get its number, and what is printed. Writing to it fails. */
static void fill_descriptors(void)
{
  for (int fd = 0; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0)
      open("/dev/null", O_RDONLY);
}

int main(int argc, char **argv)
{
  char root[PATH_MAX];
  pg_note_descriptors();
  fill_descriptors();
  pg_survive_writes();
  atexit(pg_die_of_signal); /* the last of them */
  atexit(check_output);
  if (!find_tree(root, sizeof root))
    return 1;
  lua_State *L = luaL_newstate();
  if (!L) {
    fprintf(stderr, "perigee: no memory for a Lua state\n");
    return 1;
  }
  distrust_environment();
  pg_watch_state(L);
  pg_name_panics(L);
  pg_catch_null();
  luaL_openlibs(L);
  pg_open_files(L);
  char own[PATH_MAX + sizeof "/src/?.lua;"];
  snprintf(own, sizeof own, "%s/src/?.lua;", root);
  set_path(L, "path", "LUA_PATH", own);
  set_path(L, "cpath", "LUA_CPATH", "");
  find_bytecode(L, root);

  lua_getglobal(L, "require");
  lua_pushliteral(L, "command_line");
  if (lua_pcall(L, 1, 1, 0) != 0) {
    fprintf(stderr, "perigee: %s\n", lua_tostring(L, -1));
    return 1;
  }
  lua_getfield(L, -1, "start");
  lua_createtable(L, argc, 2);
  set_field(L, "root", root);
  set_field(L, "version", PERIGEE_VERSION);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i);
  }
  if (lua_pcall(L, 1, 1, 0) != 0) {
    fprintf(stderr, "perigee: %s\n", lua_tostring(L, -1));
    return 1;
  }
  int status = lua_tointeger(L, -1);
  if (pg_stuck()) {
    check_output();
    pg_end_without_stuck(status);
  }
  return status;
}
