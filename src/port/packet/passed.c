/* SPDX-License-Identifier: Apache-2.0
 *
 * An upgrade passes what receives of a port from one process to the next (passed.h): the
 * socket, with all frames that wait in its ring.
 */
#define _GNU_SOURCE
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_tun.h>

#include "../../native/api.h"
#include "../../native/driver.h"
#include "../../native/host.h"
#include "../../native/passed.h"
#include "state.h"

/* What is said of a socket. Another layout has another number. */
struct description {
  uint32_t layout;           /* LAYOUT */
  int32_t ifindex;
  uint32_t frame_bytes, block_bytes, blocks;
  uint32_t block, in_block;  /* of the frame that is received next */
};

#define LAYOUT 0x50470001u
#define SHARE_LAYOUT 0x50470005u
#define TAP_LAYOUT 0x50470002u /* the descriptor is a TAP's, and says all else itself */

/* The same of a socket that receives the share of one of several copies (share.c). */
struct share_description {
  struct description socket; /* layout: SHARE_LAYOUT */
  uint32_t copies, copy;
  int32_t by;
};

/* Pass on what the port receives by: it must not receive any more. -1 if the port is
 * of another kind or without its interface, has received what it hasn't handed on, or the
 * other process doesn't take it. */
int pg_packet_pass(const struct port *port, int connection)
{
  const struct packet_socket *s = port->state;
  const struct packet_ring *r = &s->ring;
  if (port->own != &pg_packet_driver || s->first_segment < s->end_segment)
    return -1;
  struct description d = {
    .layout = LAYOUT, .ifindex = s->ifindex, .frame_bytes = r->frame_bytes,
    .block_bytes = r->block_bytes, .blocks = r->blocks, .block = r->block,
    .in_block = r->in_block};
  struct share_description share = {d, s->copies, s->copy, s->by};
  share.socket.layout = SHARE_LAYOUT;
  return s->copies ? pg_pass(connection, &share, sizeof share, &s->receive, 1)
                   : pg_pass(connection, &d, sizeof d, &s->receive, 1);
}

/* The same for a tap port, whose interface then stays as it is when the port is closed.
 * -1 if it is of another kind, or the other process doesn't take it. */
int pg_tap_pass(struct port *port, int connection)
{
  struct description d = {.layout = TAP_LAYOUT};
  struct ifreq now;
  int fd = pg_port_descriptor(port);
  memset(&now, 0, sizeof now);
  if (fd < 0 || ioctl(fd, TUNGETIFF, &now) < 0 ||
      pg_pass(connection, &d, sizeof d, &fd, 1) < 0)
    return -1;
  snprintf(port->keeps, sizeof port->keeps, "%s", now.ifr_name);
  return 0;
}

static bool give_tap(struct passed *p, void *unused)
{
  (void)unused;
  if (p->count == 1 && pg_tap_give(p->fds[0]))
    p->fds[0] = -1;
  return true;
}

/* Let TAPs that are opened from now on be those that were passed. */
void pg_tap_take(void)
{
  while (pg_passed_use(TAP_LAYOUT, sizeof(struct description), give_tap, NULL))
    ;
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
static bool use(struct passed *p, void *of)
{
  struct packet_socket *s = of;
  struct packet_ring *r = &s->ring;
  const struct description *d = (const struct description *)p->bytes;
  if (p->count != 1 || d->ifindex != s->ifindex || d->frame_bytes != r->frame_bytes ||
      d->block_bytes != r->block_bytes || d->blocks != r->blocks ||
      d->block >= r->blocks || d->in_block >= r->frames_per_block ||
      !receives_from(p->fds[0], s->ifindex))
    return false;
  size_t size = (size_t)r->block_bytes * r->blocks;
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, p->fds[0], 0);
  if (memory == MAP_FAILED)
    return false;
  s->unused = s->receive;
  munmap(r->memory, size);
  s->receive = p->fds[0];
  p->fds[0] = -1;
  r->memory = memory;
  r->block = d->block;
  r->in_block = d->in_block;
  r->frame = r->memory + (size_t)r->block * r->block_bytes +
             (size_t)r->in_block * r->frame_bytes;
  s->joined = true;
  return true;
}

/* Its filter may be any. */
static bool use_share(struct passed *p, void *of)
{
  struct packet_socket *s = of;
  const struct share_description *d = (const struct share_description *)p->bytes;
  return p->count == 1 && d->copies == s->copies && d->copy == s->copy &&
         d->by == s->by && receives_from(p->fds[0], s->ifindex) &&
         pg_packet_take_share(p->fds[0], s->copies, s->copy, s->by) == 0 && use(p, s);
}

/* If another process has passed on a socket for the interface, with a ring such as this
 * one has: go on with that, where the other one ended. */
void pg_packet_use_passed(struct packet_socket *s)
{
  if (s->copies)
    pg_passed_use(SHARE_LAYOUT, sizeof(struct share_description), use_share, s);
  else
    pg_passed_use(LAYOUT, sizeof(struct description), use, s);
}
