/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of an upgrade (passed.h). They wait in the connection, so the process that
 * passes them needn't live until they are read. What is in them is for those to check who
 * use them: a message is no more than bytes and descriptors.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../passed.h"

enum { MOST_PASSED = 1024, BACKLOG = 4 };

static struct passed *all, **end = &all;
static uint32_t count;
static atomic_bool taking;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* workers open ports */

static bool address_of(struct sockaddr_un *address, const char *path)
{
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address->sun_path)
    return false;
  strcpy(address->sun_path, path);
  return true;
}

/* Is a process of this user's at the other end, and, unless `pid` is 0, that one? */
static bool is_trusted(int fd, int pid)
{
  struct ucred peer;
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == geteuid() && (!pid || peer.pid == pid);
}

static int unix_socket(void)
{
  return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* A socket at `path` to which another process passes what it has; -1 if there can't be
 * one. */
int pg_passed_listen(const char *path)
{
  struct sockaddr_un address;
  int fd = address_of(&address, path) ? unix_socket() : -1;
  if (fd < 0)
    return -1;
  unlink(path);
  if (fchmod(fd, S_IRUSR | S_IWUSR) == 0 &&
      bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
      listen(fd, BACKLOG) == 0)
    return fd;
  close(fd);
  return -1;
}

/* A connection to the process `pid`, which listens at `path`; -1 if it doesn't. */
int pg_passed_connect(const char *path, int pid)
{
  struct sockaddr_un address;
  int fd = address_of(&address, path) ? unix_socket() : -1;
  if (fd < 0)
    return -1;
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
      is_trusted(fd, pid))
    return fd;
  close(fd);
  return -1;
}

union control {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(PASSED_MOST_FDS * sizeof(int))];
};

/* Send so many bytes, whose first four are their layout, with so many descriptors, 1 or
 * more; these stay the caller's. 0, or -1. */
int pg_pass(int connection, const void *bytes, size_t size, const int *fds, int fds_count)
{
  union control control = {0};
  struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control};
  if (fds_count < 1 || fds_count > PASSED_MOST_FDS || size > PASSED_MOST_BYTES)
    return -1;
  message.msg_controllen = CMSG_SPACE(fds_count * sizeof *fds);
  control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
                                    .cmsg_len = CMSG_LEN(fds_count * sizeof *fds)};
  memcpy(CMSG_DATA(&control.header), fds, fds_count * sizeof *fds);
  ssize_t n = sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  return n == (ssize_t)size ? 0 : -1;
}

static void discard(struct passed *p)
{
  for (int i = 0; i < p->count; i++)
    if (p->fds[i] >= 0)
      close(p->fds[i]);
  free(p);
}

/* The kernel closes descriptors for which there is no room. */
static void take_files(struct passed *p, struct msghdr *message)
{
  const struct cmsghdr *c = CMSG_FIRSTHDR(message);
  if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
    return;
  p->count = (c->cmsg_len - CMSG_LEN(0)) / sizeof *p->fds;
  memcpy(p->fds, CMSG_DATA(c), p->count * sizeof *p->fds);
}

/* The next message; false if there is none. One that is cut is ignored. */
static bool hear(int connection)
{
  struct passed *p = calloc(1, sizeof *p);
  union control control = {0};
  struct iovec part = {.iov_base = p ? p->bytes : NULL, .iov_len = sizeof p->bytes};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                           .msg_controllen = sizeof control};
  ssize_t n = p ? recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) : -1;
  if (n <= 0) {
    free(p);
    return false;
  }
  take_files(p, &message);
  p->size = n;
  if (p->count == 0 || n < (ssize_t)sizeof p->layout || count >= MOST_PASSED ||
      message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
    discard(p);
    return true;
  }
  *end = p;
  end = &p->next;
  count++;
  return true;
}

/* Take what processes of this user's have passed to who listens: how many messages wait to
 * be used. */
uint32_t pg_passed_accept(int listener)
{
  int fd;
  pthread_mutex_lock(&lock);
  while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
    while (is_trusted(fd, 0) && hear(fd))
      ;
    close(fd);
  }
  uint32_t n = count;
  taking = true;
  pthread_mutex_unlock(&lock);
  return n;
}

static void take_out(struct passed **at)
{
  struct passed *p = *at;
  *at = p->next;
  if (!*at)
    end = at;
  count--;
  discard(p);
}

/* Ask use(message, argument) of each message of that layout and size, in their order, until
 * it says that it has used one: true. That one is gone then, and its descriptors are
 * closed but for those for which there is -1 now. */
bool pg_passed_use(uint32_t layout, size_t size, bool (*use)(struct passed *, void *),
                   void *argument)
{
  bool used = false;
  pthread_mutex_lock(&lock);
  for (struct passed **at = &all; *at && !used; at = used ? at : &(*at)->next)
    if ((*at)->layout == layout && (*at)->size == size && use(*at, argument)) {
      take_out(at);
      used = true;
    }
  pthread_mutex_unlock(&lock);
  return used;
}

/* Close what nobody has used. */
void pg_passed_forget(void)
{
  pthread_mutex_lock(&lock);
  while (all)
    take_out(&all);
  taking = false;
  pthread_mutex_unlock(&lock);
}

/* Does this process take over from another, which may still be about to end? */
bool pg_passed_taking(void)
{
  return taking;
}
