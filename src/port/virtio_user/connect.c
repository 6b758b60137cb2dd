/* SPDX-License-Identifier: Apache-2.0
 *
 * A connect(), a recv() and a sendmsg() of the host binary's own, which net_virtio_user
 * calls in the place of libc's. As it serves a socket it waits for its first peer for
 * ever, takes one more while DPDK's interrupt thread deals with the end of the one before,
 * and may end the process in rte_panic() on the way (seen in DPDK 22.11.11). It is made to
 * connect instead, to a peer that virtio_user.c has found: that is what it gets here. And
 * it starts a device whose peer didn't take its settings, of which it only logs a line:
 * here that is noted. So is the eventfd that the peer rings when packets come: the driver
 * hands it out only with interrupts configured, and then frees the queues of a device whose
 * peer dies as it starts, and uses them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"

/* Of the vhost-user protocol: the headers of messages, and which are answered by 0 for
 * success. */
enum { HEADER_BYTES = 12, SET_MEM_TABLE = 5, SET_VRING_CALL = 13, SET_STATUS = 39 };
enum { RECEIVE_QUEUE = 0, QUEUE_MASK = 0xff, NO_DESCRIPTOR = 0x100 };

static _Thread_local int given = -1, call = -1;
static _Thread_local bool watched, failed;
static _Thread_local uint32_t request;

void pg_vhost_peer_give(int fd)
{
  given = fd;
  watched = true;
  failed = false;
  call = -1;
}

bool pg_vhost_peer_failed(void)
{
  watched = false;
  given = -1;
  return failed;
}

int pg_vhost_peer_call(void)
{
  return call;
}

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
  if (given < 0 || address->sa_family != AF_UNIX)
    return syscall(SYS_connect, fd, address, size);
  int status = dup3(given, fd, O_CLOEXEC);
  given = -1;
  pg_vhost_note(status);
  return status < 0 ? -1 : 0;
}

static void look(const void *bytes, ssize_t n)
{
  uint64_t answer;
  if (n == HEADER_BYTES) {
    memcpy(&request, bytes, sizeof request);
  } else if (n == sizeof answer && (request == SET_MEM_TABLE || request == SET_STATUS)) {
    memcpy(&answer, bytes, sizeof answer);
    failed |= answer != 0;
  } else if (n <= 0) {
    failed = true;
  }
}

ssize_t recv(int fd, void *bytes, size_t size, int flags)
{
  ssize_t n = syscall(SYS_recvfrom, fd, bytes, size, flags, NULL, NULL);
  if (watched && !(flags & MSG_PEEK))
    look(bytes, n);
  return n;
}

/* Is it what tells the peer how to tell of received packets? The descriptor, or -1. */
static int call_in(const struct msghdr *message)
{
  uint32_t number;
  uint64_t queue;
  int fd;
  const struct iovec *text = message->msg_iov;
  const struct cmsghdr *with = message->msg_control ? CMSG_FIRSTHDR(message) : NULL;
  if (message->msg_iovlen < 1 || text->iov_len < HEADER_BYTES + sizeof queue || !with ||
      with->cmsg_type != SCM_RIGHTS || with->cmsg_len < CMSG_LEN(sizeof fd))
    return -1;
  memcpy(&number, text->iov_base, sizeof number);
  memcpy(&queue, (const uint8_t *)text->iov_base + HEADER_BYTES, sizeof queue);
  memcpy(&fd, CMSG_DATA(with), sizeof fd);
  bool is_call = number == SET_VRING_CALL && !(queue & NO_DESCRIPTOR) &&
                 (queue & QUEUE_MASK) == RECEIVE_QUEUE;
  return is_call ? fd : -1;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
  int said = watched ? call_in(message) : -1;
  if (said >= 0)
    call = said;
  return syscall(SYS_sendmsg, fd, message, flags);
}
