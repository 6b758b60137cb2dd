/* SPDX-License-Identifier: Apache-2.0
 *
 * LuaJIT ends the process where it can't protect the code that it has compiled (mcode_
 * protfail() in lj_mcode.c): a limit on memory, or a kernel that allows no such code.
 */
#include <lua.h>

#include "../api.h"
#include "../log.h"
#include "internal.h"

static int on_panic(lua_State *L)
{
  const char *text = lua_tostring(L, -1);
  pg_logf(LOG_ERROR, "%s; a limit on memory is too low (ulimit -d), or code can't be made "
          "executable here", text ? text : "LuaJIT can't go on");
  return 0; /* LuaJIT exits */
}

void pg_name_panics(lua_State *L) { lua_atpanic(L, on_panic); }
