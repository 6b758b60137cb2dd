/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread of a memif socket: it takes in peers and lets them go, for all ports that
 * serve the socket, or for the one that connects to it. It waits for nobody: a peer that is
 * in the middle of its handshake for PATIENCE_S is let go, and others go on meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../native/api.h"
#include "../../native/host.h"
#include "../../native/log.h"
#include "../../native/signals.h"
#include "state.h"

enum { PATIENCE_S = 5, QUIET_S = 10, MOST_STRANGERS = 32, MOST_FDS = 512 };

/* Seconds until a client asks again, at first after its server has gone and later, until a socket is listened to after a peer has lied,
 * and after there was no descriptor for one. */
#define RETRY_SOON_S 0.001
#define SOON_S 2
#define LIVED_S 1
#define RETRY_S 0.1
#define AFTER_LIE_S 0.001
#define AFTER_FAILURE_S 0.1

/* Peers ------------------------------------------------------------------------------ */

/* Takes the descriptor. NULL: there is no memory for it. */
struct peer *pg_memif_add_peer(struct hub *h, int fd, enum awaited awaited,
                               struct memif *port)
{
  struct peer *c = calloc(1, sizeof *c);
  if (!c) {
    close(fd);
    return NULL;
  }
  *c = (struct peer){.next = h->peers, .fd = fd, .awaited = awaited,
                           .port = port, .deadline = pg_monotonic() + PATIENCE_S};
  h->peers = c;
  if (port)
    port->peer = c;
  return c;
}

/* Take the connection out of the hub; no burst uses its session any more. */
void pg_memif_drop(struct hub *h, struct peer *c)
{
  struct peer **at = &h->peers;
  while (*at != c)
    at = &(*at)->next;
  *at = c->next;
  if (c->port) {
    if (c->port->live && c->port->live == c->session)
      pg_memif_go_live(c->port, NULL);
    c->port->peer = NULL;
  }
  pg_memif_session_free(c->session);
  close(c->fd);
  free(c);
}

/* A peer that isn't known to have a port is every port's of the socket. */
static void count(struct hub *h, const struct peer *c, enum fault f)
{
  for (struct memif *m = h->ports; m; m = m->next)
    if (c->port == m || (!c->port && m == h->ports))
      m->faults[f]++;
}

static void let_go(struct hub *h, struct peer *c, enum fault f)
{
  struct memif *m = c->port ? c->port : h->ports;
  double now = pg_monotonic();
  count(h, c, f);
  if (m && now > m->quiet_until && f != FAULT_TAKEN && !m->told) {
    m->quiet_until = now + QUIET_S;
    pg_logf(LOG_WARNING, "port 'memif:%s': its peer was let go: %s (%s)", m->options.path,
            pg_memif_fault_text(f), pg_memif_fault_name(f));
  }
  pg_memif_send_end(c->fd, f);
  h->deaf_until = now + (h->listener < 0 ? RETRY_S : AFTER_LIE_S);
  pg_memif_drop(h, c);
}

static double retry(const struct hub *h, double now)
{
  return now + (now < h->soon_until ? RETRY_SOON_S : RETRY_S);
}

/* A server that has served for a while may be about to be upgraded, or to start again. */
static void drop_gone(struct hub *h, struct peer *c)
{
  double now = pg_monotonic();
  if (c->awaited == AWAIT_END && now - (c->deadline - PATIENCE_S) > LIVED_S)
    h->soon_until = now + SOON_S;
  if (h->listener < 0)
    h->deaf_until = retry(h, now);
  pg_memif_drop(h, c);
}

static enum fault fault_of(const struct peer *c)
{
  return c->session ? atomic_load(&c->session->fault) : FAULT_NONE;
}

static void look_at(struct hub *h, struct peer *c)
{
  bool gone;
  enum fault f = fault_of(c);
  if (!f)
    f = pg_memif_hear(h, c, &gone);
  else
    gone = false;
  if (!f && !gone && c->awaited != AWAIT_END && pg_monotonic() > c->deadline)
    f = FAULT_SILENT;
  if (f)
    let_go(h, c, f);
  else if (gone)
    drop_gone(h, c);
}

/* Who has connected, and not said for which port: the one that came first, if there are
 * too many. */
static struct peer *stranger_too_many(struct hub *h)
{
  struct peer *first = NULL;
  int n = 0;
  for (struct peer *c = h->peers; c; c = c->next)
    if (!c->port) {
      first = c;
      n++;
    }
  return n > MOST_STRANGERS ? first : NULL;
}

static void accept_peer(struct hub *h)
{
  int fd = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  struct peer *extra;
  if (fd < 0) {
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      h->deaf_until = pg_monotonic() + AFTER_FAILURE_S;
    return;
  }
  pg_memif_send_hello(h, fd);
  pg_memif_add_peer(h, fd, AWAIT_INIT, NULL);
  if ((extra = stranger_too_many(h)))
    let_go(h, extra, FAULT_SILENT);
}

static void connect_peer(struct hub *h)
{
  int fd = pg_connect_local(&h->address, SOCK_SEQPACKET);
  if (fd >= 0)
    pg_memif_add_peer(h, fd, AWAIT_HELLO, h->ports);
  else
    h->deaf_until = retry(h, pg_monotonic());
}

/* The thread ------------------------------------------------------------------------- */

static bool wants_peer(const struct hub *h)
{
  return h->listener >= 0 || (h->ports && !h->ports->peer);
}

/* What to wait for, and how long: descriptors, and milliseconds or -1. */
static int gather(const struct hub *h, struct pollfd *fds, int *ms)
{
  double until = 0, now = pg_monotonic();
  int n = 0;
  fds[n++] = (struct pollfd){.fd = h->wake, .events = POLLIN};
  if (wants_peer(h) && (h->listener < 0 || now < h->deaf_until))
    until = h->deaf_until;
  else if (h->listener >= 0)
    fds[n++] = (struct pollfd){.fd = h->listener, .events = POLLIN};
  for (const struct peer *c = h->peers; c && n < MOST_FDS; c = c->next) {
    fds[n++] = (struct pollfd){.fd = c->fd, .events = POLLIN};
    if (c->awaited != AWAIT_END && (until == 0 || c->deadline < until))
      until = c->deadline;
  }
  *ms = until == 0 ? -1 : until <= now ? 0 : (int)((until - now) * 1e3) + 1;
  return n;
}

static void turn(struct hub *h)
{
  struct peer *next;
  eventfd_t rung;
  eventfd_read(h->wake, &rung);
  for (struct peer *c = h->peers; c; c = next) {
    next = c->next;
    look_at(h, c);
  }
  if (pg_monotonic() < h->deaf_until)
    return;
  if (h->listener >= 0)
    accept_peer(h);
  else if (wants_peer(h))
    connect_peer(h);
}

static void *look_after(void *argument)
{
  struct hub *h = argument;
  struct pollfd fds[MOST_FDS];
  int ms;
  pthread_setname_np(pthread_self(), "memif");
  pthread_mutex_lock(&h->lock);
  while (!h->ends) {
    int n = gather(h, fds, &ms);
    pthread_mutex_unlock(&h->lock);
    poll(fds, n, ms);
    pthread_mutex_lock(&h->lock);
    if (!h->ends)
      turn(h);
  }
  pthread_mutex_unlock(&h->lock);
  return NULL;
}

int pg_memif_start_thread(struct hub *h)
{
  int error = pg_thread_start_anywhere(&h->thread, look_after, h);
  return error ? pg_fail("there is no thread for it: %s", strerror(error)) : 0;
}
