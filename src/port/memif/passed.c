/* SPDX-License-Identifier: Apache-2.0
 *
 * Going on with a memif socket that another process has passed (pass.c). All of it is
 * looked at as what a peer brings, and taken only by a port of the same options.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "passed.h"

static int option_of(int fd, int name)
{
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

typedef int (*name_of)(int, struct sockaddr *, socklen_t *);

/* Is it such a socket as memif's are, listening or not, and is that its path? */
static bool is_socket(int fd, bool listens, name_of of, const char *path)
{
  struct { struct sockaddr_un address; char end; } at = {0};
  socklen_t size = sizeof at.address;
  return option_of(fd, SO_DOMAIN) == AF_UNIX && option_of(fd, SO_TYPE) == SOCK_SEQPACKET &&
         option_of(fd, SO_ACCEPTCONN) == listens &&
         of(fd, (struct sockaddr *)&at.address, &size) == 0 &&
         strcmp(at.address.sun_path, path) == 0;
}

static bool same_path(const char *passed, const char *path)
{
  return memchr(passed, 0, PATH_BYTES) && strcmp(passed, path) == 0;
}

static bool never_waits(int fd)
{
  int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/* Does the path lead to the socket that was passed? */
static bool leads_to(const struct listener *d, const struct passed *p)
{
  struct stat now;
  return memchr(d->path, 0, PATH_BYTES) && p->count == 1 &&
         stat(d->path, &now) == 0 && S_ISSOCK(now.st_mode) && now.st_ino == d->socket &&
         is_socket(p->fds[0], true, getsockname, d->path);
}

static bool use_listener(struct passed *p, void *of)
{
  struct hub *h = of;
  struct listener d;
  memcpy(&d, p->bytes, sizeof d);
  if (!same_path(d.path, h->address.sun_path) || !leads_to(&d, p) ||
      !never_waits(p->fds[0]))
    return false;
  h->listener = p->fds[0];
  h->socket = d.socket;
  p->fds[0] = -1;
  return true;
}

/* Let the hub listen by what was passed: 0, or -1 if nothing was. */
int pg_memif_listener(struct hub *h)
{
  return pg_passed_use(LISTENER_LAYOUT, sizeof(struct listener), use_listener, h) ? 0 : -1;
}

static bool suits(const struct passed_session *d, const struct passed *p,
                  const struct memif_options *o)
{
  return same_path(d->path, o->path) && d->id == o->id && d->serves == o->serves &&
         d->queues == o->queues && d->log2 == o->log2 && d->buffer == o->buffer &&
         memcmp(d->secret, o->secret, sizeof d->secret) == 0 &&
         d->regions >= 1 && d->regions <= (o->serves ? (int)KEPT_FILES : 1) &&
         d->receives >= 1 && d->receives <= o->queues && d->sends >= 1 &&
         d->sends <= o->queues && p->count == 1 + d->regions + d->receives + d->sends &&
         is_socket(p->fds[0], false, o->serves ? getsockname : getpeername, o->path);
}

static bool take_regions(struct session *s, const struct passed_session *d, struct passed *p)
{
  for (int i = 0; i < d->regions; i++) {
    struct region *r = &s->region[i];
    int *fd = &p->fds[1 + i];
    if (pg_memif_adopt(r, *fd, d->bytes[i]))
      return false;
    r->file = *fd;
    *fd = -1;
    s->regions++;
  }
  return true;
}

/* A client's region lies as it makes it itself, and can't be cut. */
static bool is_own(struct session *s, const struct passed_session *d)
{
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
  int sealed = fcntl(s->region[0].file, F_GET_SEALS);
  if (d->send[0].log2 > d->log2)
    return false;
  uint64_t bytes = pg_memif_place_rings(s, d->sends, d->receives, d->send[0].log2);
  return sealed >= 0 && (sealed & seals) == seals && bytes == s->region[0].size;
}

static bool take_ring(const struct session *s, struct ring *r, const struct passed_ring *d,
                      uint8_t log2, int *bell)
{
  if (d->log2 < LEAST_LOG2 || d->log2 > log2 || !pg_memif_is_bell(*bell))
    return false;
  if (s->serves) {
    r->size = 1u << d->log2;
    r->region = d->region;
    r->offset = d->offset;
  }
  r->head = d->head;
  r->tail = d->tail;
  if (r->size != 1u << d->log2 || r->region >= s->regions || pg_memif_find_ring(s, r))
    return false;
  r->bell = *bell;
  *bell = -1;
  return true;
}

static bool take_rings(struct session *s, const struct passed_session *d, struct passed *p)
{
  uint8_t log2 = s->serves ? MOST_LOG2 : d->log2;
  int *bell = &p->fds[1 + d->regions];
  for (; s->receives < d->receives; s->receives++, bell++)
    if (!take_ring(s, &s->receive[s->receives], &d->receive[s->receives], log2, bell) ||
        (!s->serves && (uint16_t)(s->receive[s->receives].tail -
                                  s->receive[s->receives].head) !=
                       s->receive[s->receives].size))
      return false;
  for (; s->sends < d->sends; s->sends++, bell++)
    if (!take_ring(s, &s->send[s->sends], &d->send[s->sends], log2, bell))
      return false;
  return true;
}

struct taking {
  struct hub *hub;
  struct memif *port;
};

static bool go_on(const struct taking *t, struct session *s, struct passed *p)
{
  struct peer *c = pg_memif_add_peer(t->hub, p->fds[0], AWAIT_END, t->port);
  p->fds[0] = -1;
  if (!c)
    return false;
  c->session = s;
  pg_memif_be_quiet(s);
  pg_memif_go_live(t->port, s);
  return true;
}

static bool use_session(struct passed *p, void *of)
{
  const struct taking *t = of;
  const struct memif_options *o = &t->port->options;
  struct passed_session d;
  memcpy(&d, p->bytes, sizeof d);
  struct session *s = suits(&d, p, o) ? pg_memif_session(o->serves, t->hub->wake) : NULL;
  if (!s)
    return false;
  s->buffer = o->serves ? 0 : o->buffer;
  if (take_regions(s, &d, p) && (o->serves || is_own(s, &d)) && take_rings(s, &d, p) &&
      go_on(t, s, p)) {
    memcpy(t->port->mac.addr_bytes, d.mac, sizeof d.mac);
    return true;
  }
  pg_memif_session_free(s);
  return false;
}

/* Let the port go on with the peer that was passed for it, if there is one. Its hub's
 * thread doesn't run, or its lock is held. */
bool pg_memif_take_session(struct hub *h, struct memif *m)
{
  struct taking t = {h, m};
  return pg_passed_use(SESSION_LAYOUT, sizeof(struct passed_session), use_session, &t);
}

struct asked {
  const char *path;
  bool found;
};

static bool see_listener(struct passed *p, void *of)
{
  struct asked *a = of;
  struct listener d;
  memcpy(&d, p->bytes, sizeof d);
  a->found |= same_path(d.path, a->path) && leads_to(&d, p);
  return false;
}

static bool see_session(struct passed *p, void *of)
{
  struct asked *a = of;
  struct passed_session d;
  memcpy(&d, p->bytes, sizeof d);
  a->found |= same_path(d.path, a->path) && !d.serves;
  return false;
}

/* Has the socket been passed, which the port is to serve, or its connection to it? */
bool pg_memif_is_passed(const char *path, bool serves)
{
  struct asked a = {.path = path};
  if (serves)
    pg_passed_use(LISTENER_LAYOUT, sizeof(struct listener), see_listener, &a);
  else
    pg_passed_use(SESSION_LAYOUT, sizeof(struct passed_session), see_session, &a);
  return a.found;
}

static bool remove_file(struct passed *p, void *unused)
{
  struct listener d;
  (void)unused;
  memcpy(&d, p->bytes, sizeof d);
  if (leads_to(&d, p))
    unlink(d.path);
  return true;
}

/* Sockets that no port serves any more are gone. */
void pg_memif_forget(void)
{
  while (pg_passed_use(LISTENER_LAYOUT, sizeof(struct listener), remove_file, NULL))
    ;
}
