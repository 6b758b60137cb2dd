/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory shared with a memif peer. What a peer brings must be a file in memory as long as
 * it says; it can cut the file later (VPP, DPDK and libmemif seal theirs, others needn't),
 * so a touch of what isn't there any more is caught (SIGBUS): the region becomes zeros of
 * our own, and the peer is let go at the next look.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "../../native/api.h"
#include "../../native/host.h"
#include "state.h"

enum { GUARDS = 2048, PAGE = 4096 };

/* A descriptor's offset has 32 bits: what lies further is of no use to anybody. */
#define MOST_BYTES (UINT64_C(1) << 32)

/* The regions there are. A free slot has no `size`. */
static struct guard {
  atomic_uintptr_t at;
  atomic_uint_fast64_t size;
  atomic_bool cut;
} guards[GUARDS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;

_Atomic uint32_t pg_memif_cuts;

/* Is that within a region? Then let it be zeros from now on. */
static bool replace(uintptr_t address)
{
  for (int i = 0; i < GUARDS; i++) {
    uintptr_t at = atomic_load(&guards[i].at);
    uint64_t size = atomic_load(&guards[i].size);
    if (at != atomic_load(&guards[i].at) || size == 0 || address < at ||
        address - at >= size)
      continue;
    atomic_store(&guards[i].cut, true);
    atomic_fetch_add(&pg_memif_cuts, 1);
    return mmap((void *)at, size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) !=
           MAP_FAILED;
  }
  return false;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
  int error = errno;
  if (info->si_code > 0 && replace((uintptr_t)info->si_addr)) {
    errno = error;
    return;
  }
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(number, info, context);
  else
    signal(number, SIG_DFL); /* it comes again */
}

static void catch(void)
{
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &before);
}

void pg_memif_guard(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, catch);
}

/* A guard's number, or -1. */
static int watch(uint8_t *at, uint64_t size)
{
  int found = -1;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < GUARDS && found < 0; i++)
    if (atomic_load(&guards[i].size) == 0) {
      atomic_store(&guards[i].at, (uintptr_t)at);
      atomic_store(&guards[i].cut, false);
      atomic_store(&guards[i].size, size);
      found = i;
    }
  pthread_mutex_unlock(&lock);
  return found;
}

/* What lies between a region's end and the end of its last page can't be kept from being
 * touched, and is the file's; behind it is a page that can't be touched at all. */
static uint64_t span_of(uint64_t size, uint64_t page)
{
  return (size + page - 1) / page * page;
}

static bool map(struct region *r, int fd, uint64_t size, uint64_t page)
{
  uint64_t span = span_of(size, page), all = span + 2 * page;
  uint8_t *whole = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1, 0);
  if (whole == MAP_FAILED)
    return false;
  uint8_t *at = (uint8_t *)span_of((uintptr_t)whole, page);
  if (mmap(at, span, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
      (r->guard = watch(at, span)) < 0) {
    munmap(whole, all);
    return false;
  }
  if (at > whole)
    munmap(whole, at - whole);
  munmap(at + span + PAGE, whole + all - (at + span + PAGE));
  r->at = at;
  r->size = size;
  r->span = span;
  r->file = -1;
  return true;
}

/* Map what a peer says is a file of `size` bytes; its descriptor stays the caller's, and
 * `r->file` is -1. */
enum fault pg_memif_adopt(struct region *r, int fd, uint64_t size)
{
  struct stat st;
  struct statfs fs;
  if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0 || !S_ISREG(st.st_mode) ||
      ((uint32_t)fs.f_type != TMPFS_MAGIC && (uint32_t)fs.f_type != HUGETLBFS_MAGIC))
    return FAULT_REGION_FILE;
  if (size == 0 || size > (uint64_t)st.st_size)
    return FAULT_REGION_SIZE;
  uint64_t page = (uint32_t)fs.f_type == HUGETLBFS_MAGIC ? (uint64_t)fs.f_bsize : PAGE;
  return map(r, fd, RTE_MIN(size, MOST_BYTES), page) ? FAULT_NONE : FAULT_REGION_MAP;
}

/* Make a region of our own, all of it there, with a file that can't be cut or grow. 0, or
 * -1 and errno. */
int pg_memif_share(struct region *r, uint64_t size)
{
  int fd = memfd_create("memif", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0)
    return -1;
  int error = posix_fallocate(fd, 0, span_of(size, PAGE));
  if (!error && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
    error = errno;
  if (!error && !map(r, fd, size, PAGE))
    error = ENOMEM;
  if (error) {
    close(fd);
    errno = error;
    return -1;
  }
  r->file = fd;
  return 0;
}

void pg_memif_leave(struct region *r)
{
  if (r->file >= 0)
    close(r->file);
  atomic_store(&guards[r->guard].size, 0);
  munmap(r->at, r->span);
  munmap(r->at + r->span, PAGE);
}

bool pg_memif_is_cut(const struct region *r)
{
  return atomic_load_explicit(&guards[r->guard].cut, memory_order_relaxed);
}
