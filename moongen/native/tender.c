/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that looks after what no script does: the packet pool that ports receive
 * into grows in time, what was sent into files gets there, a file that can't be written
 * ends the script, and who watches it sees its counts.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "../../src/native/api.h"
#include "../../src/native/driver.h"
#include "../../src/native/host.h"
#include "../../src/native/log.h"
#include "../../src/native/signals.h"
#include "../../src/native/threads.h"
#include "../../src/port/packet/packet.h"
#include "../../src/port/pcap/pcap.h"
#include "internal.h"

enum { STEP_US = 20000, STEPS_BETWEEN_LOOKS = 5 };

static pthread_t thread;
static atomic_bool ends;
static bool runs;
static char failure[512];
static atomic_bool noted, failed; /* there is one; and it is whole */

/* The process is to end with this sentence, unless there is another already. */
void mg_fail(const char *why)
{
  if (atomic_exchange(&noted, true))
    return;
  strncpy(failure, why, sizeof failure - 1);
  failed = true;
}

static void look_after_pool(void *pool)
{
  uint32_t room = pg_pool_room(pool);
  if (pg_pool_left(pool) * 4 <= room)
    pg_pool_grow(pool, room);
}

/* Reading its statistics writes what a file port has buffered. */
static void look_after_file(struct mg_device *d)
{
  struct port_stats s;
  d->ports[0].own->stats(&d->ports[0], &s);
  const char *why = pg_pcap_failure(&d->ports[0]);
  if (why && !failed) {
    mg_fail(why);
    mg_stop();
  }
}

/* Its interface may have gone, or be back. */
static void look_after_interface(struct mg_device *d)
{
  bool was_away = d->ports[0].gone, away = pg_packet_tend(&d->ports[0]) < 0;
  if (d->wake_fd > 0) /* another socket, perhaps */
    __atomic_store_n(&d->wake_fd, pg_packet_descriptor(&d->ports[0]), __ATOMIC_RELEASE);
  if (away && !was_away)
    pg_logf(LOG_WARNING, "device %d (%s): its interface is gone; waiting for it, and "
            "dropping what is sent to it", d->id, d->text);
  if (!away && was_away)
    pg_logf(LOG_INFO, "device %d (%s): its interface is back", d->id, d->text);
}

static void look_after_ports(void)
{
  for (int i = 0; i < MG_MOST_DEVICES; i++) {
    struct mg_device *d = mg_device(i);
    if (!d || !__atomic_load_n(&d->configured, __ATOMIC_ACQUIRE) || !d->ports[0].own)
      continue;
    bool is_file = strcmp(d->ports[0].own->name, "pcap") == 0;
    bool is_packet = strcmp(d->ports[0].own->name, "AF_PACKET") == 0;
    if (!is_file && !is_packet)
      continue;
    for (int sink = 0; sink < d->sinks; sink++)
      pg_spin_lock(&d->tx_locks[sink]);
    if (is_file)
      look_after_file(d);
    else
      look_after_interface(d);
    for (int sink = d->sinks; sink-- > 0;)
      pg_spin_unlock(&d->tx_locks[sink]);
  }
}

static void *tend(void *pool)
{
  pg_helper_thread();
  for (unsigned step = 0; !ends; step++) {
    usleep(STEP_US);
    mg_running(0); /* notes a signal's time, and mg_goes_on */
    if (step % STEPS_BETWEEN_LOOKS)
      continue;
    look_after_pool(pool);
    look_after_ports();
    mg_watch_copy();
  }
  return NULL;
}

/* Begin to look after the devices and that pool; NULL: no more. */
void mg_tend(void *pool)
{
  sigset_t before;
  if (!pool && runs) {
    ends = true;
    pthread_join(thread, NULL);
    runs = false;
  }
  if (!pool || runs)
    return;
  pg_signals_of_own_faults(&before);
  ends = false;
  runs = pthread_create(&thread, NULL, tend, pool) == 0;
  if (runs)
    pthread_setname_np(thread, "tender");
  pg_signals_as(&before);
}

/* Why a port can't go on, or NULL. */
const char *mg_failure(void)
{
  return failed ? failure : NULL;
}
