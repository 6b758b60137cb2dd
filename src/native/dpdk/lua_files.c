/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of Lua's that say so when they can't be written. LuaJIT compiles file:write()
 * and file:flush() as calls of fwrite(3) and fflush(3); where one fails it leaves the
 * compiled code and calls it again, interpreted. But glibc forgets what it couldn't
 * write: the second call has nothing to do, and succeeds. These two aren't compiled.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "../api.h"
#include "internal.h"

static FILE *file_of(lua_State *L)
{
  FILE **file = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  if (!*file)
    luaL_error(L, "attempt to use a closed file");
  return *file;
}

/* true; or nil, what is wrong, and its number. */
static int result(lua_State *L, bool good)
{
  int error = errno;
  if (good) {
    lua_pushboolean(L, true);
    return 1;
  }
  lua_pushnil(L);
  lua_pushstring(L, strerror(error));
  lua_pushinteger(L, error);
  return 3;
}

/* file:write(...), strings and numbers. */
static int write_to(lua_State *L)
{
  FILE *file = file_of(L);
  bool good = true;
  for (int i = 2; i <= lua_gettop(L); i++) {
    size_t size;
    const char *text = luaL_checklstring(L, i, &size);
    good = good && fwrite(text, 1, size, file) == size;
  }
  return result(L, good);
}

/* file:flush() */
static int flush(lua_State *L)
{
  return result(L, fflush(file_of(L)) == 0);
}

/* For a Lua state that has its libraries. */
void pg_open_files(lua_State *L)
{
  luaL_getmetatable(L, LUA_FILEHANDLE);
  lua_pushcfunction(L, write_to);
  lua_setfield(L, -2, "write");
  lua_pushcfunction(L, flush);
  lua_setfield(L, -2, "flush");
  lua_pop(L, 1);
}
