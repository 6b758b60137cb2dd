/* SPDX-License-Identifier: Apache-2.0
 *
 * A helper: this program once more, as a process of its own that serves others next to
 * the one that handles packets. It ends with its parent.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../api.h"

extern char **environ;

enum { LOWEST_PRIORITY = 19 };

static int prepare(posix_spawn_file_actions_t *files, posix_spawnattr_t *how, int fd)
{
  sigset_t blocked, usual;
  sigemptyset(&blocked); /* the parent ends it, once all is served */
  sigaddset(&blocked, SIGINT);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGHUP);
  sigaddset(&blocked, SIGQUIT);
  sigfillset(&usual);
  int bad = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null",
                                             O_RDWR, 0);
  bad |= posix_spawn_file_actions_adddup2(files, STDIN_FILENO, STDOUT_FILENO);
  bad |= posix_spawn_file_actions_adddup2(files, fd, PG_HELPER_FD);
  bad |= posix_spawn_file_actions_addclosefrom_np(files, PG_HELPER_FD + 1);
  bad |= posix_spawnattr_setsigmask(how, &blocked);
  bad |= posix_spawnattr_setsigdefault(how, &usual);
  bad |= posix_spawnattr_setflags(how, POSIX_SPAWN_SETSIGMASK |
                                           POSIX_SPAWN_SETSIGDEF);
  return bad ? ENOMEM : 0;
}

/* Run this program with the words of `argv`, a list with a NULL behind it; `fd` is its
 * descriptor PG_HELPER_FD, and it has no other but standard error. Its process id, or
 * -errno (posix_spawn(3)). */
int pg_helper_start(const char *const *argv, int fd)
{
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  pid_t pid = 0;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&how);
  int problem = prepare(&files, &how, fd);
  if (!problem)
    problem = posix_spawn(&pid, "/proc/self/exe", &files, &how, (char *const *)argv,
                          environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&how);
  return problem ? -problem : pid;
}

/* In the helper of the process `parent`: end with it, and leave the CPU to whoever
 * wants it. False if the parent has ended already. */
bool pg_helper_begin(int parent)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpriority(PRIO_PROCESS, 0, LOWEST_PRIORITY);
  return getppid() == parent;
}

/* Has the helper ended? */
bool pg_helper_ended(int pid)
{
  return waitpid(pid, NULL, WNOHANG) != 0;
}

/* End the helper. */
void pg_helper_stop(int pid)
{
  if (kill(pid, SIGKILL) == 0)
    waitpid(pid, NULL, 0);
}
