/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting and ending DPDK's Environment Abstraction Layer. The arguments are
 * chosen in Lua (core/eal.lua); this file only calls and explains.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_version.h>

#include "../api.h"
#include "../log.h"
#include "internal.h"

static _Thread_local char error_text[512];
static bool started;

int pg_fail(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(error_text, sizeof error_text, format, args);
  va_end(args);
  return -1;
}

const char *pg_error(void)
{
  return error_text;
}

/* Switch off what a library under a driver prints while all goes well; when it
 * doesn't, the driver has an error to tell. `setter` takes a function to print
 * with, or NULL (libbpf.h, xdp/libxdp.h). */
static void silence(const char *library, const char *setter)
{
  void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle)
    return;
  void *(*set_print)(void *) = (void *(*)(void *))dlsym(handle, setter);
  if (set_print)
    set_print(NULL);
  dlclose(handle);
}

/* Since DPDK 25.07 EAL calls exit() where it refuses an option: say with what it was
 * started, and end as other errors do. */
static char **starting; /* EAL's arguments, while it starts */

static void say_what_exits(int status, void *unused)
{
  (void)unused;
  if (!starting || status == 0)
    return;
  fputs("perigee: DPDK doesn't start with '", stderr);
  for (char **argument = starting + 1; *argument; argument++)
    fprintf(stderr, "%s%s", *argument, argument[1] ? " " : "");
  fputs("': it refuses one of these options\n", stderr);
  fflush(NULL);
  _exit(1);
}

/* Start EAL with these arguments (rte_eal_init), which end with NULL; 0, or -1 and
 * pg_error(). */
int pg_eal_start(int argc, char **argv)
{
  if (started)
    return pg_fail("DPDK is running already");
  pg_log_dpdk();
  static bool asked;
  if (!asked)
    on_exit(say_what_exits, NULL);
  asked = true;
  starting = argv;
  int done = rte_eal_init(argc, argv);
  starting = NULL;
  if (done < 0)
    return pg_fail("%s", rte_strerror(rte_errno));
  silence("libbpf.so.1", "libbpf_set_print");
  silence("libxdp.so.1", "libxdp_set_print");
  started = true;
  return 0;
}

bool pg_eal_started(void)
{
  return started;
}

/* Can so many bytes of hugepages be had? What sysfs calls free may be promised to others,
 * or beyond a control group's limit. */
bool pg_hugepages_can_be_had(uint64_t bytes)
{
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  return at != MAP_FAILED && munmap(at, bytes) == 0;
}

/* The folder that EAL makes for each process and leaves behind; 0 if it isn't one of
 * Perigee's (core/run_folder.lua). */
static bool own_run_folder(char *path, size_t size)
{
  snprintf(path, size, "%s", rte_eal_get_runtime_dir());
  const char *name = strrchr(path, '/');
  return name && strncmp(name, "/perigee-", sizeof "/perigee-" - 1) == 0;
}

void pg_eal_stop(void)
{
  char folder[PATH_MAX];
  if (!started)
    return;
  if (!pg_stuck()) { /* else it would take that thread's memory away */
    bool own = own_run_folder(folder, sizeof folder);
    rte_eal_cleanup();
    if (own)
      rmdir(folder); /* with something in it, it stays */
  }
  started = false;
}

bool pg_eal_hugepages(void)
{
  return started && rte_eal_has_hugepages();
}

const char *pg_dpdk_version(void)
{
  return rte_version();
}

/* Has the address space of this process (`ulimit -v`) room for so many bytes more? */
bool pg_addresses_can_be_had(uint64_t bytes)
{
  void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                  0);
  return at != MAP_FAILED && munmap(at, bytes) == 0;
}

static void *end_at_once(void *unused) { return unused; }

/* May this user start one more thread (`ulimit -u`, a control group)? */
bool pg_thread_can_be_had(void)
{
  pthread_t thread;
  return pthread_create(&thread, NULL, end_at_once, NULL) == 0 &&
         pthread_join(thread, NULL) == 0;
}
