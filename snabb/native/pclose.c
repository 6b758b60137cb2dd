/* SPDX-License-Identifier: Apache-2.0
 *
 * A pclose() of the host binary's own, which LuaJIT calls in the place of libc's: Lua
 * 5.1's file:close() keeps the command's exit status to itself, and programs of Snabb's
 * expect it (snabb/core/lua52_library.lua).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

static _Thread_local int closed = -1;

int pclose(FILE *file)
{
  int (*libc_pclose)(FILE *) = (int (*)(FILE *))dlsym(RTLD_NEXT, "pclose");
  closed = libc_pclose(file);
  return closed;
}

/* The status, as waitpid()'s, of what this thread has closed since the last call; -1 if
 * it has closed nothing. */
int snabb_closed_status(void);
int snabb_closed_status(void)
{
  int status = closed;
  closed = -1;
  return status;
}
