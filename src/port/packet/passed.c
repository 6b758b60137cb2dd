/* SPDX-License-Identifier: Apache-2.0
 *
 * An upgrade passes what receives of a port from one process to the next: the socket,
 * with all frames that wait in its ring (SCM_RIGHTS, unix(7)). Messages wait in the
 * connection, so the first process needn't live until they are read.
 */
#define _GNU_SOURCE
#include <net/if.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/if_tun.h>

#include "../../native/api.h"
#include "../../native/driver.h"
#include "../../native/host.h"
#include "state.h"

enum { MOST_PASSED = 1024, BACKLOG = 4 };

/* What is said of a socket. Another layout has another number. */
struct description {
  uint32_t layout;           /* LAYOUT */
  int32_t ifindex;
  uint32_t frame_bytes, block_bytes, blocks;
  uint32_t block, in_block;  /* of the frame that is received next */
};

#define LAYOUT 0x50470001u
#define TAP_LAYOUT 0x50470002u /* the descriptor is a TAP's, and says all else itself */

struct passed {
  struct description is;
  int fd;
};

static struct passed all[MOST_PASSED];
static uint32_t passed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* on both: workers open ports */

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
int pg_packet_listen(const char *path)
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
int pg_packet_connect(const char *path, int pid)
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

/* Send it with the descriptor: 0, or -1. */
static int send_with(int connection, struct description *d, int fd)
{
  union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof(int))]; } control = {0};
  struct iovec part = {.iov_base = d, .iov_len = sizeof *d};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                           .msg_controllen = sizeof control};
  control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
                                    .cmsg_len = CMSG_LEN(sizeof fd)};
  memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  ssize_t n = sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  return n == (ssize_t)sizeof *d ? 0 : -1;
}

/* Pass on what the port receives by: it must not receive any more. -1 if the port is
 * of another kind or without its interface, has received what it hasn't handed on, or
 * receives a share, or the other process doesn't take it. */
int pg_packet_pass(const struct port *port, int connection)
{
  const struct packet_socket *s = port->state;
  const struct packet_ring *r = &s->ring;
  if (port->own != &pg_packet_driver || s->first_segment < s->end_segment || s->copies)
    return -1;
  struct description d = {
    .layout = LAYOUT, .ifindex = s->ifindex, .frame_bytes = r->frame_bytes,
    .block_bytes = r->block_bytes, .blocks = r->blocks, .block = r->block,
    .in_block = r->in_block};
  return send_with(connection, &d, s->receive);
}

/* The same for a tap port, whose interface then stays as it is when the port is closed.
 * -1 if it is of another kind, or the other process doesn't take it. */
int pg_tap_pass(struct port *port, int connection)
{
  struct description d = {.layout = TAP_LAYOUT};
  struct ifreq now;
  int fd = pg_port_descriptor(port);
  memset(&now, 0, sizeof now);
  if (fd < 0 || ioctl(fd, TUNGETIFF, &now) < 0 || send_with(connection, &d, fd) < 0)
    return -1;
  snprintf(port->keeps, sizeof port->keeps, "%s", now.ifr_name);
  return 0;
}
/* The next message; false if there is none. One that is no description is ignored. */
static bool hear(int connection)
{
  struct passed p = {.fd = -1};
  union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof(int))]; } control = {0};
  struct iovec part = {.iov_base = &p.is, .iov_len = sizeof p.is};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                           .msg_controllen = CMSG_LEN(sizeof p.fd)};
  ssize_t n = recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n <= 0)
    return false;
  const struct cmsghdr *c = CMSG_FIRSTHDR(&message); /* one descriptor fits, others are closed */
  if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
      c->cmsg_len != CMSG_LEN(sizeof p.fd))
    return true;
  memcpy(&p.fd, CMSG_DATA(c), sizeof p.fd);
  bool whole = n == sizeof p.is && !(message.msg_flags & MSG_TRUNC);
  if (whole && p.is.layout == LAYOUT && passed < MOST_PASSED)
    all[passed++] = p;
  else if (!(whole && p.is.layout == TAP_LAYOUT && pg_tap_give(p.fd)))
    close(p.fd);
  return true;
}

/* Take what processes of this user's have passed to who listens. How many sockets wait
 * to be used. */
uint32_t pg_packet_accept(int listener)
{
  int fd;
  pthread_mutex_lock(&lock);
  while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
    while (is_trusted(fd, 0) && hear(fd))
      ;
    close(fd);
  }
  uint32_t n = passed;
  pthread_mutex_unlock(&lock);
  return n;
}

/* Close those that no port has used. */
void pg_packet_forget(void)
{
  pthread_mutex_lock(&lock);
  while (passed > 0)
    close(all[--passed].fd);
  pthread_mutex_unlock(&lock);
  pg_tap_forget();
}

/* Is it an AF_PACKET socket that receives from the interface? */
static bool receives_from(int fd, int ifindex)
{
  struct sockaddr_ll at = {0};
  socklen_t size = sizeof at;
  return getsockname(fd, (struct sockaddr *)&at, &size) == 0 &&
         at.sll_family == AF_PACKET && at.sll_ifindex == ifindex;
}

/* The kernel maps a ring by its whole size alone. */
static bool use(struct packet_socket *s, const struct passed *p)
{
  struct packet_ring *r = &s->ring;
  const struct description *d = &p->is;
  if (d->ifindex != s->ifindex || d->frame_bytes != r->frame_bytes ||
      d->block_bytes != r->block_bytes || d->blocks != r->blocks ||
      d->block >= r->blocks || d->in_block >= r->frames_per_block ||
      !receives_from(p->fd, s->ifindex))
    return false;
  size_t size = (size_t)r->block_bytes * r->blocks;
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
  if (memory == MAP_FAILED)
    return false;
  s->unused = s->receive;
  munmap(r->memory, size);
  s->receive = p->fd;
  r->memory = memory;
  r->block = d->block;
  r->in_block = d->in_block;
  r->frame = r->memory + (size_t)r->block * r->block_bytes +
             (size_t)r->in_block * r->frame_bytes;
  s->joined = true;
  return true;
}

/* If another process has passed on a socket for the interface, with a ring such as this
 * one has: go on with that, where the other one ended. */
void pg_packet_use_passed(struct packet_socket *s)
{
  pthread_mutex_lock(&lock);
  for (uint32_t i = 0; i < passed; i++)
    if (use(s, &all[i])) {
      all[i] = all[--passed];
      break;
    }
  pthread_mutex_unlock(&lock);
}
