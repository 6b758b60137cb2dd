/* SPDX-License-Identifier: Apache-2.0
 *
 * An epoll_ctl() of the host binary's own, which DPDK calls in the place of libc's, for
 * a bug of net_virtio_user seen in DPDK 22.11.11: when the process at the other end of
 * a port that serves the socket has gone, the driver closes the connection though it
 * couldn't take its callback out of DPDK's interrupt thread ("interrupt unregister
 * failed"). That thread waits for all that is registered, and ends the process in
 * rte_panic() if one can't be waited for. One that is closed has nothing to tell: it is
 * passed over.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interrupt_thread.h"

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
  int status = syscall(SYS_epoll_ctl, epoll, operation, fd, event);
  if (status < 0 && errno == EBADF && operation == EPOLL_CTL_ADD &&
      pg_in_interrupt_thread())
    return 0;
  return status;
}
