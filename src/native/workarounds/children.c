/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of libc that start programs, which LuaJIT and Lua modules call: the host
 * binary's own hand the process's descriptors on to nobody. DPDK opens sockets, memory,
 * locks and devices without O_CLOEXEC (seen in 22.11.11): a child would keep a socket
 * served and a device busy after the process has been killed, and the next couldn't
 * start. What a child gets is 0, 1 and 2, and what this process itself was given.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/close_range.h>

#include "../api.h"
#include "../dpdk/internal.h"

enum { MOST_GIVEN = 64, MOST_TRIED = 1 << 16 };

static struct {
  unsigned fd;
  dev_t device;
  ino_t file;
} given[MOST_GIVEN]; /* in ascending order */

static unsigned n_given;

static int by_number(const void *a, const void *b)
{
  return *(const int *)a - *(const int *)b;
}

/* Note the descriptors that this process was started with, before it opens any. */
void pg_note_descriptors(void)
{
  int fds[MOST_GIVEN], n = 0;
  DIR *folder = opendir("/proc/self/fd");
  struct dirent *entry;
  struct stat st;
  while (folder && n < MOST_GIVEN && (entry = readdir(folder))) {
    int fd = atoi(entry->d_name);
    if (fd > STDERR_FILENO && fd != dirfd(folder))
      fds[n++] = fd;
  }
  if (folder)
    closedir(folder);
  qsort(fds, n, sizeof *fds, by_number);
  for (int i = 0; i < n; i++)
    if (fstat(fds[i], &st) == 0) {
      given[n_given].fd = fds[i];
      given[n_given].device = st.st_dev;
      given[n_given++].file = st.st_ino;
    }
}

/* Is it the same file still? */
static bool is_given(unsigned i)
{
  struct stat st;
  return fstat(given[i].fd, &st) == 0 && st.st_dev == given[i].device &&
         st.st_ino == given[i].file;
}

/* Linux before 5.11 has no such call. */
static void keep_one_by_one(unsigned first, unsigned last)
{
  struct rlimit limit = {.rlim_cur = MOST_TRIED};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur > MOST_TRIED)
    limit.rlim_cur = MOST_TRIED;
  for (unsigned fd = first; fd <= last && fd < limit.rlim_cur; fd++) {
    int flags = fcntl(fd, F_GETFD);
    if (flags >= 0)
      fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
  }
}

/* These end when another program begins. */
static void keep(unsigned first, unsigned last)
{
  if (first <= last &&
      syscall(SYS_close_range, first, last, CLOSE_RANGE_CLOEXEC) < 0)
    keep_one_by_one(first, last);
}

/* All but those. Between fork() and exec() nothing but system calls is allowed. */
static void keep_descriptors(void)
{
  unsigned first = STDERR_FILENO + 1;
  for (unsigned i = 0; i < n_given; i++)
    if (is_given(i)) {
      keep(first, given[i].fd - 1);
      first = given[i].fd + 1;
    }
  keep(first, ~0u);
}

#define LIBC(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int system(const char *command)
{
  if (command)
    keep_descriptors();
  return LIBC(system)(command);
}

FILE *popen(const char *command, const char *mode)
{
  keep_descriptors();
  return LIBC(popen)(command, mode);
}

/* Lua 5.1's file:close() keeps the command's exit status to itself. */
static _Thread_local int closed = -1;

int pclose(FILE *file)
{
  closed = LIBC(pclose)(file);
  return closed;
}

/* The status, as waitpid()'s, of what this thread has closed since the last call; -1 if
 * it has closed nothing. */
int pg_closed_status(void)
{
  int status = closed;
  closed = -1;
  return status;
}

int execve(const char *path, char *const argv[], char *const environment[])
{
  keep_descriptors();
  return syscall(SYS_execve, path, argv, environment);
}

int execv(const char *path, char *const argv[])
{
  return execve(path, argv, environ);
}

int execvp(const char *file, char *const argv[])
{
  keep_descriptors();
  return LIBC(execvp)(file, argv);
}
