/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets that were opened ahead, while another process has the interface: its frames
 * don't come to them before they join it. To make a ring the kernel waits until no CPU
 * uses an old one (synchronize_net), which is most of the time that opening takes.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../native/driver.h"
#include "../../native/host.h"
#include "state.h"

struct prepared {
  struct port port;
  uint32_t frames;
  bool sends;
  struct prepared *next;
};

static struct prepared *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* workers open ports */

/* Open them for the interface `name`, with a ring of at least `frames` frames, to send
 * if it `sends`. 0, or -1 and pg_error(). */
int pg_packet_prepare(const char *name, uint32_t frames, bool sends)
{
  struct prepared *p = calloc(1, sizeof *p);
  if (!p)
    return pg_fail("no memory");
  if (pg_packet_begin(&p->port, name, frames, sends, false) < 0) {
    free(p);
    return -1;
  }
  p->frames = frames;
  p->sends = sends;
  pthread_mutex_lock(&lock);
  p->next = all;
  all = p;
  pthread_mutex_unlock(&lock);
  return 0;
}

/* Is the interface still the one, with frames as long as they were? */
static bool is_same(struct port *port)
{
  struct packet_socket *s = port->state;
  int ifindex = s->ifindex;
  uint16_t longest = port->max_frame;
  return pg_packet_find(s) == 0 && s->ifindex == ifindex &&
         pg_packet_fit_mtu(port) == 0 && port->max_frame == longest;
}

static struct prepared *find(const char *name, uint32_t frames, bool sends)
{
  struct prepared *found = NULL;
  pthread_mutex_lock(&lock);
  for (struct prepared **at = &all; *at; at = &(*at)->next) {
    struct prepared *p = *at;
    const struct packet_socket *s = p->port.state;
    if (strcmp(s->name, name) || p->frames != frames || p->sends != sends)
      continue;
    *at = p->next;
    found = p;
    break;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

bool pg_packet_take_prepared(struct port *port, const char *name, uint32_t frames,
                             bool sends)
{
  struct prepared *p = find(name, frames, sends);
  if (!p)
    return false;
  *port = p->port;
  free(p);
  if (!is_same(port)) {
    port->own->close(port);
    return false;
  }
  return true;
}
