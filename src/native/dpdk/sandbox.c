/* SPDX-License-Identifier: Apache-2.0
 *
 * Landlock's rules for all threads of this process, also those of DPDK's and its
 * libraries: the kernel lets each thread restrict itself alone (landlock(7)). Each is
 * interrupted by a signal that none of them can block, the one by which glibc sets
 * users for all threads (SIGSETXID); libpsx of libcap does the same.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <linux/capability.h>

#include "../api.h"
#include "internal.h"

enum {
  LANDLOCK_RESTRICT_SELF = 446, /* on all CPUs; Debian 12's headers may lack it */
  SETXID = 33,                  /* glibc's, which its sigfillset() leaves out */
  KERNEL_SIGSET = 8,
  MOST_THREADS = 1024,
  PATIENCE_MS = 5000,
};

/* struct sigaction as the kernel has it, which differs between CPUs. */
struct kernel_action {
  uint64_t words[8];
};

static int ruleset; /* or -1 */
static atomic_int answers, problem;
static atomic_bool entered;

/* This process is in its sandbox (--sandbox). */
bool pg_sandboxed(void)
{
  return atomic_load(&entered);
}

void pg_note_sandbox(void)
{
  atomic_store(&entered, true);
}

/* What root may do that no port needs once it is open, and that leads around rules for
 * files: reading the kernel's memory, devices' nodes, modules, other processes. */
#define NEVER_NEEDED \
  (1u << CAP_SYS_RAWIO | 1u << CAP_MKNOD | 1u << CAP_SYS_MODULE | 1u << CAP_SYS_BOOT | \
   1u << CAP_SYS_PTRACE | 1u << CAP_SYS_CHROOT | 1u << CAP_SYS_TIME | \
   1u << CAP_DAC_READ_SEARCH | 1u << CAP_SETFCAP | 1u << CAP_SYS_ADMIN)

/* The same of capabilities from 32 on. Who has CAP_PERFMON or CAP_SYS_ADMIN may read
 * other processes' environments (kernel/fork.c, may_access_mm; seen on Linux 6.18), and
 * who has CAP_SYSLOG the kernel's addresses. */
#define NEVER_NEEDED_HIGH (1u << (CAP_PERFMON - 32) | 1u << (CAP_SYSLOG - 32))

static int drop_capabilities(void)
{
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, sets) != 0)
    return -1;
  sets[0].effective &= ~NEVER_NEEDED;
  sets[0].permitted &= ~NEVER_NEEDED;
  sets[0].inheritable &= ~NEVER_NEEDED;
  sets[1].effective &= ~NEVER_NEEDED_HIGH;
  sets[1].permitted &= ~NEVER_NEEDED_HIGH;
  sets[1].inheritable &= ~NEVER_NEEDED_HIGH;
  return syscall(SYS_capset, &header, sets);
}

/* Only system calls: this runs in a signal handler, too. */
static void restrict_this_thread(void)
{
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || drop_capabilities() != 0 ||
      (ruleset >= 0 && syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) != 0))
    atomic_store(&problem, errno);
}

static void on_signal(int number)
{
  int before = errno;
  (void)number;
  restrict_this_thread();
  atomic_fetch_add(&answers, 1);
  errno = before;
}

static int kernel_sigaction(int number, const struct kernel_action *new,
                            struct kernel_action *old)
{
  return syscall(SYS_rt_sigaction, number, new, old, KERNEL_SIGSET);
}

/* glibc keeps that signal for itself; so its other functions make the action, and the
 * kernel is asked what that is. */
static int take_signal(struct kernel_action *before)
{
  struct sigaction usual, ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  struct kernel_action made = {{0}};
  sigfillset(&ours.sa_mask);
  if (sigaction(SIGRTMAX, &ours, &usual) != 0)
    return -1;
  int bad = kernel_sigaction(SIGRTMAX, NULL, &made);
  bad |= sigaction(SIGRTMAX, &usual, NULL);
  return bad ? -1 : kernel_sigaction(SETXID, &made, before);
}

static int tell(int thread, int number)
{
  return syscall(SYS_tgkill, getpid(), thread, number);
}

/* Let that thread restrict itself, and wait until it has, or has ended. */
static int restrict_thread(int thread)
{
  static const struct timespec ms = {.tv_nsec = 1000000};
  int before = atomic_load(&answers);
  if (tell(thread, SETXID) != 0)
    return errno == ESRCH ? 0 : pg_fail("%s", strerror(errno));
  for (int i = 0; atomic_load(&answers) == before; i++) {
    if (tell(thread, 0) != 0)
      return 0;
    if (i == PATIENCE_MS)
      return pg_fail("the thread %d doesn't answer", thread);
    nanosleep(&ms, NULL);
  }
  return 0;
}

static bool is_among(const int *threads, int n, int thread)
{
  for (int i = 0; i < n; i++)
    if (threads[i] == thread)
      return true;
  return false;
}

/* Those that aren't among the `n` threads `done` yet; how many, or -1. */
static int restrict_others(int *done, int *n)
{
  DIR *folder = opendir("/proc/self/task");
  const struct dirent *entry;
  int found = 0, bad = 0;
  if (!folder)
    return pg_fail("/proc/self/task: %s", strerror(errno));
  while (!bad && (entry = readdir(folder))) {
    int thread = atoi(entry->d_name);
    if (thread <= 0 || is_among(done, *n, thread))
      continue;
    if (*n == MOST_THREADS)
      bad = pg_fail("there are more than %d threads", MOST_THREADS);
    else
      bad = restrict_thread(thread);
    done[(*n)++] = thread;
    found++;
  }
  closedir(folder);
  return bad ? -1 : found;
}

/* Until a look finds none that is new: what a thread makes that is restricted is, too. */
static int restrict_all(void)
{
  int done[MOST_THREADS + 1], n = 1, found;
  done[0] = gettid();
  do
    found = restrict_others(done, &n);
  while (found > 0);
  return found;
}

/* Let the Landlock ruleset of the descriptor `rules` (-1: none) hold for all threads of
 * this process, and those they make, without capabilities that lead around it. 0, or -1
 * and pg_error(). */
int pg_sandbox_files(int rules)
{
  struct kernel_action before;
  ruleset = rules;
  atomic_store(&problem, 0);
  if (take_signal(&before) != 0)
    return pg_fail("no signal for threads: %s", strerror(errno));
  int bad = restrict_all();
  kernel_sigaction(SETXID, &before, NULL);
  if (bad)
    return -1;
  restrict_this_thread(); /* the last: this one lists the others */
  if (atomic_load(&problem))
    return pg_fail("%s", strerror(atomic_load(&problem)));
  return 0;
}
