/* SPDX-License-Identifier: Apache-2.0
 *
 * What apps in several threads share of ports. Devices of which several apps have a
 * queue each: the first app plugs the device in, the last unplugs it. The two ends of
 * rings. And numbers for the names of devices, which are the process's.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../api.h"
#include "internal.h"

enum { MOST_SHARED = 64, MOST_RINGS = 256 };

static struct {
  char device[256];
  struct port port; /* as the first app left it */
  int users;
} shared[MOST_SHARED];

static struct {
  char name[64];
  bool taken[2]; /* a free one has none */
} rings[MOST_RINGS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A number that no device of this process has had. */
int pg_port_next_id(void)
{
  static atomic_int last;
  return ++last;
}

static int find(const char *device)
{
  for (int i = 0; i < MOST_SHARED; i++)
    if (shared[i].users > 0 && strcmp(shared[i].device, device) == 0)
      return i;
  return -1;
}

/* Has another app of this process a queue of the device? */
bool pg_port_shared(const char *device)
{
  pthread_mutex_lock(&lock);
  int i = find(device);
  pthread_mutex_unlock(&lock);
  return i >= 0;
}

/* Is the device in use? Then fill in the port for another of its queues, which are
 * as many as the first app said; the caller sets `queue` and `account`. */
bool pg_port_join(struct port *port, const char *device)
{
  pthread_mutex_lock(&lock);
  int i = find(device);
  if (i >= 0) {
    *port = shared[i].port;
    shared[i].users++;
  }
  pthread_mutex_unlock(&lock);
  return i >= 0;
}

/* Let others have queues of the device, which is plugged in and started. */
int pg_port_share(const struct port *port, const char *device)
{
  int i, status = -1;
  pthread_mutex_lock(&lock);
  for (i = 0; i < MOST_SHARED && shared[i].users > 0; i++)
    ;
  if (i < MOST_SHARED && strlen(device) < sizeof shared[i].device) {
    strcpy(shared[i].device, device);
    shared[i].port = *port;
    shared[i].users = 1;
    status = 0;
  }
  pthread_mutex_unlock(&lock);
  return status < 0 ? pg_fail("at most %d devices have several queues", MOST_SHARED)
                    : 0;
}

/* Give up a queue; true if it was the device's last, which is to be unplugged now. */
bool pg_port_leave(const char *device)
{
  pthread_mutex_lock(&lock);
  int i = find(device);
  bool last = i < 0 || --shared[i].users == 0;
  pthread_mutex_unlock(&lock);
  return last;
}

/* The ring of this name, or the first that is free; -1 if there is none. */
static int find_ring(const char *name, bool or_free)
{
  int found = -1;
  for (int i = MOST_RINGS; i-- > 0;) {
    bool used = rings[i].taken[0] || rings[i].taken[1];
    if (used && strcmp(rings[i].name, name) == 0)
      return i;
    if (!used && or_free)
      found = i;
  }
  return found;
}

/* Take an end of the pair of rings called `name`: 0 or 1; -1 if both are in use. */
int pg_ring_take(const char *name)
{
  int side = -1;
  pthread_mutex_lock(&lock);
  int i = strlen(name) < sizeof rings[0].name ? find_ring(name, true) : -1;
  if (i >= 0) {
    strcpy(rings[i].name, name);
    side = !rings[i].taken[0] ? 0 : !rings[i].taken[1] ? 1 : -1;
  }
  if (side >= 0)
    rings[i].taken[side] = true;
  pthread_mutex_unlock(&lock);
  if (i < 0)
    return pg_fail("at most %d rings are there at a time", MOST_RINGS);
  return side >= 0 ? side : pg_fail("both ends of this ring are in use; a ring joins "
                                    "two apps");
}

/* Give up an end, whose port is unplugged; the last frees the rings and what is in
 * them. */
void pg_ring_leave(const char *name, int side)
{
  pthread_mutex_lock(&lock);
  int i = find_ring(name, false);
  if (i >= 0)
    rings[i].taken[side] = false;
  if (i >= 0 && !rings[i].taken[!side])
    pg_ring_free(name);
  pthread_mutex_unlock(&lock);
}
