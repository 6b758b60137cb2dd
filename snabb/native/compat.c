/* SPDX-License-Identifier: Apache-2.0
 *
 * C functions that Snabb's own C code has and its programs call through
 * ffi.C. Their names are fixed; snabb/core/lib_h.lua declares them to Lua.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "../../src/native/api.h"

static struct timespec read_clock(clockid_t clock)
{
  struct timespec t;
  clock_gettime(clock, &t);
  return t;
}

static double seconds(struct timespec t)
{
  return t.tv_sec + t.tv_nsec * 1e-9;
}

double get_monotonic_time(void)
{
  return seconds(read_clock(CLOCK_MONOTONIC));
}

double get_unix_time(void)
{
  return seconds(read_clock(CLOCK_REALTIME));
}

uint64_t get_time_ns(void)
{
  return pg_raw_ns();
}

void sleep_ns(int nanoseconds)
{
  struct timespec t = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  nanosleep(&t, NULL);
}

void full_memory_barrier(void)
{
  atomic_thread_fence(memory_order_seq_cst);
}

void prefetch_for_read(const void *address)
{
  __builtin_prefetch(address, 0);
}

void prefetch_for_write(const void *address)
{
  __builtin_prefetch(address, 1);
}

/* When the file was last changed, in seconds since 1970; 0 if it isn't there. */
unsigned int stat_mtime(const char *path)
{
  struct stat s;
  return stat(path, &s) == 0 ? s.st_mtime : 0;
}

/* A call that LuaJIT can't look into orders memory around it. */
void nop(void)
{
}
