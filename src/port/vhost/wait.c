/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine that sleeps until a virtual machine has sent something: it is asked to kick
 * the rings that it sends by, and no more once the engine looks by itself again.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_eth_vhost.h>
#include <rte_vhost.h>

#include "../../native/api.h"
#include "../../native/host.h"
#include "queues.h"
#include "vhost.h"

/* The ring that the guest sends by, of a pair. */
static uint16_t ring_of(uint16_t pair)
{
  return 2 * pair + 1;
}

static int kick_of(int vid, uint16_t pair)
{
  struct rte_vhost_vring vring;
  return rte_vhost_get_vhost_vring(vid, ring_of(pair), &vring) == 0 ? vring.kickfd : -1;
}

/* The descriptors that the guest kicks, all of them counting ones that aren't to be read:
 * how many. */
int32_t pg_guest_descriptors(const struct port *port, int32_t *fds, int32_t most)
{
  int vid = rte_eth_vhost_get_vid_from_port_id(port->id);
  uint16_t step = RTE_MAX(port->queues, 1);
  int32_t n = 0;
  for (uint16_t q = port->queue; vid >= 0 && q < port->pairs && n < most; q += step) {
    int fd = kick_of(vid, q);
    if (fd >= 0)
      fds[n++] = fd;
  }
  return n;
}

/* Let the guest kick, or no more; a number that is another one once the rings are others.
 * What was sent before it sees this is in the ring by the next look. */
uint32_t pg_guest_notify(const struct port *port, bool on)
{
  int vid = rte_eth_vhost_get_vid_from_port_id(port->id);
  uint32_t version = pg_guest_changes(port);
  for (uint16_t q = port->queue; vid >= 0 && q < port->pairs;
       q += RTE_MAX(port->queues, 1))
    if (kick_of(vid, q) >= 0)
      rte_vhost_enable_guest_notification(vid, ring_of(q), on);
  atomic_thread_fence(memory_order_seq_cst);
  return version;
}
