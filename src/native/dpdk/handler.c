/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of errors that have a Lua stack of their own for recursion without end, after
 * which the stack has room for a C function, but hardly for one in Lua.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "../api.h"
#include "internal.h"

/* Upvalues: a thread, and a function(err, thread). The function is called in the thread
 * that raised the error; if that one's stack is full, in the other, with the thread. */
static int handle(lua_State *L)
{
  lua_State *own = lua_tothread(L, lua_upvalueindex(1));
  const char *text = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : "";
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_insert(L, 1);
  if (!strstr(text, "stack overflow")) {
    lua_call(L, 1, 1);
    return 1;
  }
  lua_settop(own, 0);
  lua_pushthread(L);
  lua_xmove(L, own, 3);
  lua_pcall(own, 2, 1, 0); /* if that fails, its error will do */
  lua_xmove(own, L, 1);
  return 1;
}

/* The handler for xpcall of such a function. */
static int make(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_newthread(L);
  lua_insert(L, 1);
  lua_pushcclosure(L, handle, 2);
  return 1;
}

void pg_handler_register(lua_State *L)
{
  lua_pushcfunction(L, make);
  lua_setfield(L, LUA_REGISTRYINDEX, "perigee.handler");
  lua_pushthread(L); /* Lua 5.2's coroutine.running() returns it */
  lua_setfield(L, LUA_REGISTRYINDEX, "perigee.main_thread");
}
