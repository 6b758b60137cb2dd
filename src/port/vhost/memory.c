/* SPDX-License-Identifier: Apache-2.0
 *
 * An mmap64() of the host binary's own, by which librte_vhost maps the memory of guests.
 * It believes the guest's sizes: past the end of the file behind it the process would
 * end by SIGBUS. Such memory is refused here. And where a guest's ring says that more
 * buffers wait than it has room for, or its buffers are shorter than a packet's header,
 * librte_vhost writes behind the ring, or the buffer (up to 65,535 entries of 8 bytes;
 * seen in DPDK 22.11.11): at the memory's end that would be another guest's, or a crash.
 * So an apron of memory that nobody uses is mapped behind it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../native/api.h"
#include "../../native/log.h"
#include "thread.h"

enum { APRON = 2 << 20, MOST = 32 * 8 }; /* ports, and regions of each */

static const void *above[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *map(void *address, size_t length, int protection, int flags, int fd,
                 off64_t offset)
{
  return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

static bool note(const void *from, const void *to)
{
  bool noted = false;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST && !noted; i++)
    if (above[i] == from) {
      above[i] = to;
      noted = true;
    }
  pthread_mutex_unlock(&lock);
  return noted;
}

size_t pg_vhost_apron_taken(const void *address)
{
  return address && note(address, NULL) ? APRON : 0;
}

static uint64_t rounded(uint64_t bytes, uint64_t page)
{
  return (bytes + page - 1) / page * page;
}

/* Map the file, and the apron behind it, at a place of their own: in the middle of what
 * is reserved first, so that it begins with a page of the file's. */
static void *map_guest(size_t length, int protection, int flags, int fd, off64_t offset,
                       uint64_t page)
{
  size_t all = length + page + APRON;
  uint8_t *reserved = map(NULL, all, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    return MAP_FAILED;
  uint8_t *at = (uint8_t *)rounded((uintptr_t)reserved, page), *end = at + length;
  void *mapped = map(at, length, protection, flags | MAP_FIXED, fd, offset);
  if (mapped == MAP_FAILED || !note(NULL, at)) {
    syscall(SYS_munmap, reserved, all);
    return MAP_FAILED;
  }
  mprotect(end, APRON, PROT_READ | PROT_WRITE);
  if (at > reserved)
    syscall(SYS_munmap, reserved, at - reserved);
  if (reserved + all > end + APRON)
    syscall(SYS_munmap, end + APRON, reserved + all - (end + APRON));
  return at;
}

void *mmap64(void *address, size_t length, int protection, int flags, int fd,
             off64_t offset)
{
  struct stat file;
  if (address || fd < 0 || !(flags & MAP_SHARED) || !pg_in_vhost_thread() ||
      fstat(fd, &file) < 0)
    return map(address, length, protection, flags, fd, offset);
  uint64_t page = file.st_blksize > 4096 ? file.st_blksize : 4096;
  if (length > INT64_MAX / 2 || offset < 0 ||
      (uint64_t)offset + length > rounded(file.st_size, page)) {
    pg_logf(LOG_WARNING, "a virtual machine announces %zu bytes of memory in a file that "
            "has %ju; it is refused", length, (uintmax_t)file.st_size);
    errno = EINVAL;
    return MAP_FAILED;
  }
  return map_guest(length, protection, flags, fd, offset, page);
}
