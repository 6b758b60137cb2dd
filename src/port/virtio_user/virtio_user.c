/* SPDX-License-Identifier: Apache-2.0
 *
 * virtio-user ports: the guest's end of vhost-user sockets. The device is DPDK's, but
 * lives no longer than its peer: a thread of the port's waits for a peer (one that
 * connects, or that can be connected to), gives it to a new device, takes that away when
 * the peer has gone, and waits for the next. Meanwhile nothing is received, and what is
 * to be sent waits. A peer that doesn't answer is given up after PATIENCE_S.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_ether.h>

#include "../../native/api.h"
#include "../../native/driver.h"
#include "../../native/host.h"
#include "../../native/log.h"
#include "../../native/signals.h"
#include "device.h"
#include "state.h"
#include "virtio_user.h"

/* PATIENCE_S: DPDK looks for a socket that it has just made, and who connects to it, once
 * a second (fdset_event_dispatch, seen in 22.11.11). */
enum { PATIENCE_S = 3, RETRY_MS = 100, MOST_WAITING = 8 };

/* A peer that has gone, after so long at least, may be about to be upgraded, or to start
 * again: for so long it is looked for so often. */
enum { LIVED_S = 1, SOON_S = 2, RETRY_SOON_MS = 1 };

/* The thread -------------------------------------------------------------------- */

/* Wait for one of `events` on the descriptor, for so long (-1: for ever); false if the
 * thread is to end. */
static bool await(const struct virtio_user *v, int fd, short events, int ms)
{
  struct pollfd fds[] = {{.fd = v->stop, .events = POLLIN}, {.fd = fd, .events = events}};
  int n;
  while ((n = poll(fds, 2, ms)) < 0 && errno == EINTR)
    ;
  return n >= 0 && !(fds[0].revents & POLLIN);
}

/* The next peer's connection, which blocks with patience; -1: the thread is to end. */
static int next_peer(struct virtio_user *v)
{
  struct timeval patience = {.tv_sec = PATIENCE_S};
  int fd = v->first;
  v->first = -1;
  while (fd < 0) {
    int retry_ms = pg_monotonic() < v->soon_until ? RETRY_SOON_MS : RETRY_MS;
    if (!await(v, v->listener, POLLIN, v->listener < 0 ? retry_ms : -1))
      return -1;
    fd = v->listener < 0 ? pg_connect_local(&v->address, SOCK_STREAM)
                         : accept4(v->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  }
  int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return fd;
}

/* Let the engine's thread use that device (-1: none). */
static void show(struct virtio_user *v, int id)
{
  atomic_store(&v->call, id < 0 ? -1 : pg_vhost_peer_call());
  atomic_store(&v->id, id);
  atomic_fetch_add(&v->devices, 1);
  eventfd_write(v->changed, 1);
}

static bool join(struct virtio_user *v, int peer)
{
  bool joined = pg_vhost_start(&v->device, v->address.sun_path, &v->mac, v->pool,
                               v->offload, peer);
  if (joined) {
    atomic_store(&v->offloads, v->device.offloads);
    show(v, v->device.id);
  } else if (!v->told && !pg_vhost_has_gone(peer)) {
    pg_logf(LOG_WARNING, "the peer at the socket '%s' doesn't answer, or can't use "
            "this memory; waiting for another", v->address.sun_path);
    v->told = true;
  }
  return joined;
}

/* Take the device away, once no burst uses it any more. */
static void part(struct virtio_user *v)
{
  struct port_stats last = {0};
  show(v, -1);
  if (!atomic_load(&v->closing))
    pg_clock_await_all();
  pthread_mutex_lock(&v->lock);
  if (pg_port_stats(&v->device, &last) == 0)
    pg_port_add_stats(&v->past, &last);
  pthread_mutex_unlock(&v->lock);
  pg_vhost_stop(&v->device);
}

static void *look_after(void *argument)
{
  struct virtio_user *v = argument;
  bool goes_on = true;
  int peer;
  pthread_setname_np(pthread_self(), "virtio-user");
  while (goes_on && (peer = next_peer(v)) >= 0) {
    bool joined = join(v, peer);
    sem_post(&v->tried);
    if (joined) {
      double since = pg_monotonic();
      goes_on = await(v, peer, POLLRDHUP, -1);
      double now = pg_monotonic();
      v->soon_until = now - since > LIVED_S ? now + SOON_S : 0;
      part(v);
    } else {
      goes_on = await(v, -1, 0, RETRY_MS);
    }
    close(peer);
  }
  return NULL;
}

static int start_thread(struct virtio_user *v)
{
  int error = pg_thread_start_anywhere(&v->thread, look_after, v);
  return error ? pg_fail("there is no thread for it: %s", strerror(error)) : 0;
}

/* The port ----------------------------------------------------------------------- */

static uint16_t receive(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  struct virtio_user *v = port->state;
  int id = atomic_load_explicit(&v->id, memory_order_acquire);
  return id < 0 ? 0 : rte_eth_rx_burst(id, 0, packets, n);
}

static uint16_t send_burst(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  struct virtio_user *v = port->state;
  int id = atomic_load_explicit(&v->id, memory_order_acquire);
  return id < 0 ? 0 : rte_eth_tx_burst(id, 0, packets, n);
}

static uint64_t offloads(const struct port *port, uint16_t *id)
{
  struct virtio_user *v = port->state;
  int device = atomic_load_explicit(&v->id, memory_order_acquire);
  *id = device;
  return device < 0 ? 0 : atomic_load(&v->offloads);
}

static void read_stats(const struct port *port, struct port_stats *stats)
{
  struct virtio_user *v = port->state;
  struct port_stats now;
  pthread_mutex_lock(&v->lock);
  *stats = v->past;
  if (atomic_load(&v->id) >= 0 && pg_port_stats(&v->device, &now) == 0)
    pg_port_add_stats(stats, &now);
  pthread_mutex_unlock(&v->lock);
}

static int read_link(const struct port *port, struct port_link *link)
{
  struct virtio_user *v = port->state;
  *link = (struct port_link){.up = atomic_load(&v->id) >= 0, .full_duplex = 1};
  return 0;
}

static int read_mac(const struct port *port, uint8_t *mac)
{
  const struct virtio_user *v = port->state;
  memcpy(mac, v->mac.addr_bytes, sizeof v->mac.addr_bytes);
  return 0;
}

static void remove_socket(const struct virtio_user *v)
{
  struct stat now;
  if (v->listener >= 0 && stat(v->address.sun_path, &now) == 0 &&
      now.st_ino == v->socket)
    unlink(v->address.sun_path);
}

static void free_state(struct virtio_user *v)
{
  int fds[] = {v->listener, v->first, v->stop, v->changed};
  remove_socket(v);
  for (size_t i = 0; i < RTE_DIM(fds); i++)
    if (fds[i] >= 0)
      close(fds[i]);
  sem_destroy(&v->tried);
  free(v);
}

static int close_port(struct port *port)
{
  struct virtio_user *v = port->state;
  atomic_store(&v->closing, true);
  eventfd_write(v->stop, 1);
  pthread_join(v->thread, NULL);
  free_state(v);
  port->state = NULL;
  return 0;
}

static const struct own_driver driver = {
  .name = "net_virtio_user", .receive = receive, .send = send_burst,
  .stats = read_stats, .link = read_link, .mac = read_mac, .offloads = offloads,
  .close = close_port};

static int serve(struct virtio_user *v)
{
  const char *path = v->address.sun_path;
  struct stat made;
  v->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (v->listener < 0 ||
      bind(v->listener, (struct sockaddr *)&v->address, sizeof v->address) < 0 ||
      stat(path, &made) < 0)
    return pg_fail("the socket '%s' can't be made: %s", path, strerror(errno));
  v->socket = made.st_ino;
  return listen(v->listener, MOST_WAITING) < 0
           ? pg_fail("the socket '%s' can't be served: %s", path, strerror(errno))
           : 0;
}

static int find_server(struct virtio_user *v, bool waits)
{
  v->first = pg_connect_local(&v->address, SOCK_STREAM);
  return v->first < 0 && !waits
           ? pg_fail("nobody answers at '%s'; start the process that serves it first "
                     "(%s)", v->address.sun_path, strerror(errno))
           : 0;
}

/* Find or wait for peers; with one that is there already the port can be used at once. */
static int begin(struct virtio_user *v, bool serves, bool waits)
{
  if (v->stop < 0 || v->changed < 0)
    return pg_fail("no descriptor for it: %s", strerror(errno));
  if ((serves ? serve(v) : find_server(v, waits)) < 0)
    return -1;
  bool found = v->first >= 0; /* the thread takes it */
  if (start_thread(v) < 0)
    return -1;
  while (found && sem_wait(&v->tried) < 0)
    ;
  return 0;
}

/* Open the guest's end of the socket `path`, which it serves or connects to; packets are
 * received into the pool. `offload`: leave checksums to the peer where it takes that.
 * `waits`: nobody need serve it yet. 0, or -1 and pg_error(). */
int pg_virtio_user_open(struct port *port, const char *path, bool serves, bool offload,
                        bool waits, void *pool)
{
  struct virtio_user *v = calloc(1, sizeof *v);
  if (!v)
    return pg_fail("no memory");
  v->address.sun_family = AF_UNIX;
  snprintf(v->address.sun_path, sizeof v->address.sun_path, "%s", path);
  v->listener = v->first = -1;
  v->offload = offload;
  v->told = !serves; /* of the first */
  v->pool = pool;
  atomic_init(&v->id, -1);
  atomic_init(&v->call, -1);
  pthread_mutex_init(&v->lock, NULL);
  sem_init(&v->tried, 0, 0);
  rte_eth_random_addr(v->mac.addr_bytes);
  v->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  v->changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  pg_port_own(port, &driver, v);
  port->tidy = 1;
  snprintf(port->name, sizeof port->name, "virtio-user:%s", path);
  if (begin(v, serves, waits) < 0) {
    free_state(v);
    port->state = NULL;
    return -1;
  }
  if (serves || waits || atomic_load(&v->id) >= 0)
    return 0;
  close_port(port);
  return pg_fail("who serves the socket '%s' doesn't answer, or can't use this memory",
                 path);
}
