/* SPDX-License-Identifier: Apache-2.0
 *
 * An eventfd() of the host binary's own, which net_virtio_user calls in the place of
 * libc's: as a device can't be opened, since its peer has gone or doesn't answer, the
 * driver closes neither these nor its connection (seen in DPDK 22.11.11). What a thread
 * makes while it opens one is noted, and closed afterwards if it is still there. Numbers
 * of descriptors are used again: what is meant is known by the kernel's number for it.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"

enum { MOST = 16 }; /* a device has five */

static _Thread_local struct {
  int fd;
  uint64_t number;
} noted[MOST];

static _Thread_local int n_noted = MOST; /* not noting */

/* The number that eventfd(2) gave it (since Linux 5.2), or the socket's; 0 for others. */
static uint64_t number_of(int fd)
{
  char path[64], line[128];
  unsigned long long number = 0;
  struct stat st;
  if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
    return st.st_ino;
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
  FILE *info = fopen(path, "re");
  while (info && fgets(line, sizeof line, info))
    if (sscanf(line, "eventfd-id: %llu", &number) == 1)
      break;
  if (info)
    fclose(info);
  return number;
}

void pg_vhost_note_begin(void)
{
  n_noted = 0;
}

void pg_vhost_note(int fd)
{
  if (fd < 0 || n_noted == MOST)
    return;
  noted[n_noted].fd = fd;
  noted[n_noted++].number = number_of(fd);
}

void pg_vhost_note_end(bool lost)
{
  for (int i = 0; i < n_noted && lost; i++)
    if (noted[i].number && number_of(noted[i].fd) == noted[i].number)
      close(noted[i].fd);
  n_noted = MOST;
}

int eventfd(unsigned count, int flags)
{
  int fd = syscall(SYS_eventfd2, count, flags);
  pg_vhost_note(fd);
  return fd;
}
