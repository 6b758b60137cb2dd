/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of core.shm. A graph of 1,000 apps has some 10,000 of them, so there are few
 * system calls for each.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../api.h"
#include "internal.h"

/* Give `from` the name `to`, unless something has it: errno is EEXIST then. */
static int name_once(const char *from, const char *to)
{
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
    return 0;
  if (errno != EINVAL && errno != ENOSYS)
    return -1;
  /* A file system that doesn't know how. */
  if (link(from, to) != 0)
    return -1;
  unlink(from);
  return 0;
}

/* A signal may end the call (posix_fallocate(3); tmpfs of Linux 6.1 lets it). */
static int reserve(int fd, int64_t size)
{
  int error;
  do
    error = posix_fallocate(fd, 0, size);
  while (error == EINTR);
  errno = error;
  return error ? -1 : 0;
}

/* Without a call to change it where that is so: a service's filter may forbid it. */
static bool is_of_group(int fd, int group)
{
  struct stat found;
  return (fstat(fd, &found) == 0 && found.st_gid == (gid_t)group) ||
         fchown(fd, -1, group) == 0;
}

/* Let the group read it. Who may not give it away keeps it. */
static void share(int fd, const struct shm_file *f)
{
  if (f->group >= 0 && is_of_group(fd, f->group))
    fchmod(fd, f->mode);
}

/* errno stays as it is. */
static int close_failed(int fd, const char *hidden)
{
  int error = errno;
  if (hidden)
    unlink(hidden);
  close(fd);
  errno = error;
  return -1;
}

static int open_there(struct shm_file *f, const char *path)
{
  f->step = SHM_OPEN;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return -1;
  f->step = SHM_RESERVE;
  return reserve(fd, f->size) == 0 ? fd : close_failed(fd, NULL);
}

/* The file if there is one, since none can be made. */
static int open_instead(struct shm_file *f, const char *path)
{
  int error = errno, step = f->step, fd = open_there(f, path);
  if (fd < 0 && errno == ENOENT) {
    f->step = step;
    errno = error;
  }
  return fd;
}

/* The file `path` of an object, open to be read and written; it is made if there is none,
 * under the name `hidden` until its size is right: others map objects as soon as they see
 * them. A descriptor, or -1, errno, and in f->step what couldn't be done. */
int pg_shm_file(struct shm_file *f, const char *path, const char *hidden)
{
  f->step = SHM_OPEN;
  int fd = open(hidden, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, f->mode);
  if (fd < 0)
    return open_instead(f, path);
  f->step = SHM_RESERVE;
  if (reserve(fd, f->size) != 0) {
    close_failed(fd, hidden);
    return open_instead(f, path);
  }
  f->step = SHM_NAME;
  share(fd, f);
  if (name_once(hidden, path) == 0)
    return fd;
  bool is_there = errno == EEXIST;
  close_failed(fd, hidden);
  return is_there ? open_there(f, path) : -1;
}
