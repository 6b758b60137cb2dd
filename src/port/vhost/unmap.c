/* SPDX-License-Identifier: Apache-2.0
 *
 * A munmap() of the host binary's own, which librte_vhost calls in the place of libc's:
 * what is behind a guest's memory (memory.c) goes with it.
 */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread.h"

int munmap(void *address, size_t length)
{
  return syscall(SYS_munmap, address, length + pg_vhost_apron_taken(address));
}
