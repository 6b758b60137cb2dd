/* SPDX-License-Identifier: Apache-2.0
 *
 * A munmap() of the host binary's own, which DPDK's drivers call in the place of
 * libc's, for a bug of net_memif seen in DPDK 22.11.11: when the process at the other
 * end has gone, memif_disconnect() unmaps its rings (memif_free_regions) in DPDK's
 * interrupt thread, while the engine may be in the middle of a burst on them: a crash,
 * about once in a hundred times. It has marked the port as disconnected by then, so no
 * new burst touches them. What is missing is to wait for the end of the old one: until
 * every engine has looked at the clock again, which it does in each breath.
 *
 * What lies behind a guest's memory (vhost_memory.c) goes with it.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../api.h"
#include "../dpdk/internal.h"
#include "interrupt_thread.h"
#include "vhost_thread.h"

int munmap(void *address, size_t length)
{
  if (pg_in_interrupt_thread()) {
    __sync_synchronize();
    pg_clock_await_all();
  }
  return syscall(SYS_munmap, address, length + pg_vhost_apron_taken(address));
}
