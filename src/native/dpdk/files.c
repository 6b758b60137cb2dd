/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are read and written while packets pass. A file that is written is emptied
 * first, so what is read, or written by somebody else, would be lost: it isn't opened to
 * be written then. It is the file that counts, by whatever name or link it is reached. Who
 * reads or writes one holds a lock on it (flock(2)), which ends with the process; where a
 * file system has no locks, only what this process itself reads is known.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../api.h"
#include "internal.h"

enum { PERMISSIONS = 0666 }; /* less the umask */

/* This process is about to read the file that it has opened as `fd`, or to write it. */
void pg_file_uses(int fd, bool writes)
{
  /* One that somebody writes can be read all the same. */
  flock(fd, (writes ? LOCK_EX : LOCK_SH) | LOCK_NB);
}

static bool has_lock(int fd, int operation)
{
  return flock(fd, operation | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* Has this process another descriptor of that file, opened in that mode? */
static bool is_open(int fd, const struct stat *file, int mode)
{
  DIR *folder = opendir("/proc/self/fd");
  const struct dirent *entry;
  bool found = false;
  while (folder && !found && (entry = readdir(folder))) {
    struct stat st;
    int other = atoi(entry->d_name);
    found = entry->d_name[0] != '.' && other != fd && fstat(other, &st) == 0 &&
            st.st_dev == file->st_dev && st.st_ino == file->st_ino &&
            (fcntl(other, F_GETFL) & O_ACCMODE) == mode;
  }
  if (folder)
    closedir(folder);
  return found;
}

/* Who uses the file that is to be written, or NULL. */
static const char *user_of(int fd, const struct stat *file, bool anew)
{
  if (is_open(fd, file, O_RDONLY))
    return "this process reads it";
  if (has_lock(fd, LOCK_EX))
    return NULL;
  if (is_open(fd, file, O_WRONLY))
    return anew ? NULL : "this process writes it already";
  return has_lock(fd, LOCK_SH) ? "another process reads it"
                               : "another process writes it already";
}

/* Open the file `path` to write it, which creates or empties it; with O_APPEND among
 * `flags` (of open(2)) it is kept. `anew`: what this process writes there already ends.
 * The descriptor, or -1, pg_error() and errno, which is EBUSY if the file is in use. */
int pg_file_create(const char *path, int flags, bool anew)
{
  struct stat st;
  const char *user = NULL;
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, PERMISSIONS);
  if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
    user = user_of(fd, &st, anew);
    if (!user && (flags & O_APPEND || ftruncate(fd, 0) == 0))
      return fd;
    int error = user ? EBUSY : errno;
    close(fd);
    fd = -1;
    errno = error;
  }
  if (user)
    pg_fail("can't write %s: %s; give another name", path, user);
  else if (fd < 0)
    pg_fail("can't write %s: %s", path, strerror(errno));
  return fd;
}

/* Read the next line of the FILE, without its end, to `to`: how many bytes it has;
 * FILE_END; FILE_FAILED and errno, where it can't be read; or FILE_LINE_TOO_LONG, if
 * those are more than `room`: as many were read. */
int64_t pg_file_line(void *file, char *to, uint64_t room)
{
  uint64_t n = 0;
  int byte;
  bool failed;
  flockfile(file);
  while ((byte = getc_unlocked(file)) != EOF && byte != '\n' && n < room)
    to[n++] = (char)byte;
  failed = byte == EOF && ferror_unlocked(file);
  funlockfile(file);
  if (failed)
    return FILE_FAILED;
  if (byte == EOF)
    return n > 0 ? (int64_t)n : FILE_END;
  return byte == '\n' ? (int64_t)n : FILE_LINE_TOO_LONG;
}
