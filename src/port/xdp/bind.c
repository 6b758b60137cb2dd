/* SPDX-License-Identifier: Apache-2.0
 *
 * A bind() of the host binary's own, which libxdp calls in the place of libc's. Linux
 * gives up the queue of an AF_XDP socket a while after the socket was closed (its work
 * queue does, xp_put_pool). Until then nobody can bind to the queue, and neither
 * libxdp 1.3.1 nor net_af_xdp of DPDK 22.11.11 tries again: a port that is opened right
 * after it was closed could fail. A process that takes over from another one opens it
 * while that may still have it: it waits longer.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../native/passed.h"

enum { TRIES = 200, TRIES_TAKING_OVER = 5000, PAUSE_US = 1000 };

int bind(int fd, const struct sockaddr *address, socklen_t size)
{
  long status = syscall(SYS_bind, fd, address, size);
  int tries = pg_passed_taking() ? TRIES_TAKING_OVER : TRIES;
  for (int i = 0; i < tries && status < 0 && errno == EBUSY && address &&
                  size >= sizeof address->sa_family && address->sa_family == AF_XDP;
       i++) {
    usleep(PAUSE_US);
    status = syscall(SYS_bind, fd, address, size);
  }
  return status;
}
