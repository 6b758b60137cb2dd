/* SPDX-License-Identifier: Apache-2.0
 *
 * DPDK's net_virtio_user for one peer: started on a connection that is there already
 * (connect.c), and taken away again. Called by the thread of a port
 * (virtio_user.c).
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_ether.h>
#include <rte_log.h>

#include "../../native/api.h"
#include "device.h"

/* What DPDK says of peers that die is no news, unless more was asked for. */
static void hush(bool quiet)
{
  static const char *const names[] = {"pmd.net.virtio.init", "pmd.net.virtio.driver",
                                      "lib.eal"};
  static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
  static int threads, before[RTE_DIM(names)];
  pthread_mutex_lock(&one);
  bool changes = quiet ? threads++ == 0 : --threads == 0;
  for (size_t i = 0; i < RTE_DIM(names) && changes; i++) {
    int type = rte_log_register(names[i]);
    if (quiet)
      before[i] = type < 0 ? (int)RTE_LOG_DEBUG : rte_log_get_level(type);
    if (before[i] <= (int)RTE_LOG_INFO)
      rte_log_set_level(type, quiet ? (int)RTE_LOG_CRIT : before[i]);
  }
  pthread_mutex_unlock(&one);
}

static void ring_bell(void *bell)
{
  atomic_store((atomic_bool *)bell, true);
}

/* As a device starts whose peer has gone, the driver asks for an alarm, which uses the
 * device: let that have been. Alarms come in their order. */
static void await_alarms(void)
{
  static atomic_bool rang;
  static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&one);
  atomic_store(&rang, false);
  if (rte_eal_alarm_set(1, ring_bell, &rang) == 0)
    while (!atomic_load(&rang))
      usleep(100);
  pthread_mutex_unlock(&one);
}

bool pg_vhost_has_gone(int fd)
{
  struct pollfd peer = {.fd = fd, .events = POLLRDHUP};
  return poll(&peer, 1, 0) > 0;
}

static bool start(struct port *device, const char *path,
                  const struct rte_ether_addr *mac, void *pool, bool offload, int peer)
{
  char devargs[256], text[RTE_ETHER_ADDR_FMT_SIZE];
  rte_ether_format_addr(text, sizeof text, mac);
  snprintf(devargs, sizeof devargs, "net_virtio_user_pg%d,path=%s,queues=1,mac=%s",
           pg_port_next_id(), path, text);
  pg_vhost_peer_give(peer);
  pg_vhost_note_begin();
  bool plugged = pg_port_plug(device, devargs, "") == 0;
  pg_vhost_note_end(!plugged);
  device->pool = pool;
  bool started = plugged && pg_port_start(device, 0, true, offload, false) == 0;
  bool failed = pg_vhost_peer_failed();
  await_alarms();
  if (started && !failed && !pg_vhost_has_gone(peer))
    return true;
  if (plugged)
    pg_port_unplug(device);
  return false;
}

bool pg_vhost_start(struct port *device, const char *path,
                    const struct rte_ether_addr *mac, void *pool, bool offload, int peer)
{
  hush(true);
  bool started = start(device, path, mac, pool, offload, peer);
  hush(false);
  return started;
}

void pg_vhost_stop(struct port *device)
{
  hush(true);
  pg_port_unplug(device);
  hush(false);
}
