/* SPDX-License-Identifier: Apache-2.0
 *
 * An mprotect() of the host binary's own. LuaJIT calls it before and after it writes
 * machine code, and ends the process where it fails ("runtime code generation failed").
 * That it does where the process has as many mappings as there may be (vm.max_map_count):
 * LuaJIT's areas are side by side, so the kernel has them as one mapping, and has to
 * split it to make one area writable. So some mappings are kept in reserve: two of them
 * are given up for each such failure, and taken again as the code can be run, and the
 * split is over.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_common.h>

enum { PAGE = 4096, PAIRS = 16 };

static uint8_t *pages; /* the odd ones can be read: each divides a mapping in three */
static int kept;       /* of the odd ones, from the first on */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int change(void *at, size_t length, int protection)
{
  return syscall(SYS_mprotect, at, length, protection);
}

static void keep(void)
{
  while (kept < PAIRS && change(pages + PAGE * (2 * kept + 1), PAGE, PROT_READ) == 0)
    kept++;
}

static void give_up(void)
{
  kept--;
  change(pages + PAGE * (2 * kept + 1), PAGE, PROT_NONE);
}

RTE_INIT(reserve_mappings)
{
  size_t all = PAGE * (2 * PAIRS + 1);
  void *at = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED)
    return;
  pages = at;
  keep();
}

static int change_with_reserve(void *at, size_t length, int protection)
{
  int status, error;
  pthread_mutex_lock(&lock);
  do {
    status = change(at, length, protection);
    error = errno;
    if (status == 0 || error != ENOMEM || kept == 0)
      break;
    give_up();
  } while (true);
  pthread_mutex_unlock(&lock);
  errno = error;
  return status;
}

int mprotect(void *at, size_t length, int protection)
{
  int error = errno, status = change(at, length, protection);
  if (status < 0 && errno == ENOMEM && pages)
    status = change_with_reserve(at, length, protection);
  if (status == 0 && (protection & PROT_EXEC) && pages) {
    pthread_mutex_lock(&lock);
    keep();
    pthread_mutex_unlock(&lock);
    errno = error;
  }
  return status;
}
