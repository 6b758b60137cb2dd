/* SPDX-License-Identifier: Apache-2.0
 *
 * memif sockets: one for all ports that serve the same path, one for each that connects.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../native/api.h"
#include "../../native/host.h"
#include "state.h"

enum { MOST_WAITING = 16 };

static struct hub *hubs; /* of servers */
static pthread_mutex_t hubs_lock = PTHREAD_MUTEX_INITIALIZER;

static int serve(struct hub *h)
{
  const char *path = h->address.sun_path;
  struct stat made;
  if (pg_memif_listener(h) == 0)
    return 0; /* another process has passed it */
  h->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (h->listener < 0 ||
      bind(h->listener, (struct sockaddr *)&h->address, sizeof h->address) < 0)
    return pg_fail("the socket '%s' can't be made: %s", path, strerror(errno));
  h->socket = stat(path, &made) == 0 ? made.st_ino : 0;
  return listen(h->listener, MOST_WAITING) < 0
           ? pg_fail("the socket '%s' can't be served: %s", path, strerror(errno))
           : 0;
}

static void free_hub(struct hub *h)
{
  struct stat now;
  while (h->peers)
    pg_memif_drop(h, h->peers);
  if (h->listener >= 0) {
    if (h->socket && stat(h->address.sun_path, &now) == 0 && now.st_ino == h->socket)
      unlink(h->address.sun_path);
    close(h->listener);
  }
  if (h->wake >= 0)
    close(h->wake);
  pthread_mutex_destroy(&h->lock);
  free(h);
}

static int begin(struct hub *h, bool serves)
{
  int fd = -1;
  if (h->wake < 0)
    return pg_fail("there is no descriptor for it: %s", strerror(errno));
  if (serves && serve(h) < 0)
    return -1;
  if (pg_memif_take_session(h, h->ports))
    return pg_memif_start_thread(h);
  if (!serves && (fd = pg_connect_local(&h->address, SOCK_SEQPACKET)) < 0)
    return pg_fail("nobody answers at '%s'; start the process that serves it "
                   "first (%s)", h->address.sun_path, strerror(errno));
  if (fd >= 0)
    pg_memif_add_peer(h, fd, AWAIT_HELLO, h->ports);
  return pg_memif_start_thread(h);
}

static struct hub *new_hub(struct memif *m)
{
  struct hub *h = calloc(1, sizeof *h);
  if (!h) {
    pg_fail("no memory");
    return NULL;
  }
  h->address.sun_family = AF_UNIX;
  snprintf(h->address.sun_path, sizeof h->address.sun_path, "%s", m->options.path);
  h->listener = -1;
  h->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  pthread_mutex_init(&h->lock, NULL);
  h->ports = m;
  if (begin(h, m->options.serves) == 0)
    return h;
  if (h->peers)
    m->peer = NULL;
  free_hub(h);
  return NULL;
}

/* A port of the hub's; false if another has its id. */
static bool add_port(struct hub *h, struct memif *m)
{
  bool free_id = true;
  pthread_mutex_lock(&h->lock);
  for (const struct memif *other = h->ports; other; other = other->next)
    free_id &= other->options.id != m->options.id;
  if (free_id) {
    m->next = h->ports;
    h->ports = m;
    pg_memif_take_session(h, m);
  }
  pthread_mutex_unlock(&h->lock);
  return free_id;
}

static int join_servers(struct memif *m)
{
  struct hub *h = hubs;
  while (h && strcmp(h->address.sun_path, m->options.path) != 0)
    h = h->next;
  if (h && !add_port(h, m))
    return pg_fail("another port of this process serves id %u of the socket '%s'",
                   m->options.id, m->options.path);
  if (!h && (h = new_hub(m)) != NULL) {
    h->next = hubs;
    hubs = h;
  }
  m->hub = h;
  return h ? 0 : -1;
}

/* Let the port have peers. 0, or -1 and pg_error(). */
int pg_memif_join(struct memif *m)
{
  if (!m->options.serves)
    return (m->hub = new_hub(m)) ? 0 : -1;
  pthread_mutex_lock(&hubs_lock);
  int status = join_servers(m);
  pthread_mutex_unlock(&hubs_lock);
  return status;
}

static void forget(const struct hub *h)
{
  struct hub **at = &hubs;
  while (*at && *at != h)
    at = &(*at)->next;
  if (*at)
    *at = h->next;
}

/* End with its peer; the last port of a hub ends that, too. */
void pg_memif_part(struct memif *m)
{
  struct hub *h = m->hub;
  struct memif **at = &h->ports;
  pthread_mutex_lock(&hubs_lock);
  pthread_mutex_lock(&h->lock);
  if (m->peer)
    pg_memif_drop(h, m->peer);
  while (*at != m)
    at = &(*at)->next;
  *at = m->next;
  bool last = !h->ports;
  h->ends |= last;
  pthread_mutex_unlock(&h->lock);
  if (last) {
    forget(h);
    eventfd_write(h->wake, 1);
    pthread_join(h->thread, NULL);
    free_hub(h);
  }
  pthread_mutex_unlock(&hubs_lock);
}
