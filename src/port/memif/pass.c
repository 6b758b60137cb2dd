/* SPDX-License-Identifier: Apache-2.0
 *
 * An upgrade passes a memif socket on: what listens, and of each peer the connection, the
 * regions' files, the rings' eventfds, and how far both have got. The peer notices nothing.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "../../native/api.h"
#include "passed.h"

static int pass_listener(const struct hub *h, int connection)
{
  struct listener d = {.layout = LISTENER_LAYOUT, .socket = h->socket};
  memcpy(d.path, h->address.sun_path, sizeof d.path);
  return pg_pass(connection, &d, sizeof d, &h->listener, 1);
}

static struct passed_ring say_ring(const struct ring *r)
{
  return (struct passed_ring){.head = r->head, .tail = r->tail, .region = r->region,
                              .log2 = __builtin_ctz(r->size), .offset = r->offset};
}

/* Is it a session in which nothing is amiss, and all of which can be passed? */
static bool is_passable(const struct peer *c)
{
  const struct session *s = c->session;
  if (c->awaited != AWAIT_END || !c->port || c->port->live != s ||
      atomic_load(&c->session->fault) != FAULT_NONE || s->regions > KEPT_FILES)
    return false;
  for (int i = 0; i < s->regions; i++)
    if (s->region[i].file < 0)
      return false;
  return true;
}

/* No burst uses the session any more. */
static int pass_session(const struct peer *c, int connection)
{
  const struct session *s = c->session;
  const struct memif_options *o = &c->port->options;
  int fds[PASSED_MOST_FDS], n = 0;
  struct passed_session d = {
    .layout = SESSION_LAYOUT, .id = o->id, .buffer = o->buffer, .queues = o->queues,
    .serves = o->serves, .log2 = o->log2, .regions = s->regions, .receives = s->receives,
    .sends = s->sends};
  snprintf(d.path, sizeof d.path, "%s", o->path);
  memcpy(d.secret, o->secret, sizeof d.secret);
  memcpy(d.mac, c->port->mac.addr_bytes, sizeof d.mac);
  fds[n++] = c->fd;
  for (int i = 0; i < s->regions; i++) {
    d.bytes[i] = s->region[i].size;
    fds[n++] = s->region[i].file;
  }
  for (int i = 0; i < s->receives; i++) {
    d.receive[i] = say_ring(&s->receive[i]);
    fds[n++] = s->receive[i].bell;
  }
  for (int i = 0; i < s->sends; i++) {
    d.send[i] = say_ring(&s->send[i]);
    fds[n++] = s->send[i].bell;
  }
  return pg_pass(connection, &d, sizeof d, fds, n);
}

/* Is there a peer, which hasn't been passed on? */
bool pg_memif_has_peer(const struct port *port)
{
  const struct memif *m = port->state;
  return __atomic_load_n(&m->live, __ATOMIC_RELAXED) != NULL;
}

/* Pass all of the port's socket on, other ports' sessions, too: none of them must receive
 * or send any more. What isn't passed on is let go as at the end of any port. */
void pg_memif_pass(const struct port *port, int connection)
{
  const struct memif *m = port->state;
  struct hub *h = m->hub;
  pthread_mutex_lock(&h->lock);
  if (!h->passed && (h->listener < 0 || pass_listener(h, connection) == 0)) {
    h->passed = h->ends = true; /* its thread reads nothing of the peers any more */
    h->socket = 0;              /* the file stays */
    for (struct peer *c = h->peers; c; c = c->next)
      if (is_passable(c)) {
        pg_memif_go_live(c->port, NULL);
        pass_session(c, connection);
      }
    while (h->peers)
      pg_memif_drop(h, h->peers);
    eventfd_write(h->wake, 1);
  }
  pthread_mutex_unlock(&h->lock);
}
