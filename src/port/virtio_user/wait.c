/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine that sleeps until the peer has sent something: the peer is asked to ring, and
 * no more once the engine looks by itself again. The driver isn't configured for
 * interrupts (connect.c says why): all that it does here is to set a flag in a ring, which
 * lives until this thread has seen that the device is to go (part() in virtio_user.c).
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "../../native/api.h"
#include "state.h"
#include "virtio_user.h"

/* The descriptors that tell of packets or another device, both of them counting ones that
 * aren't to be read: how many. */
int32_t pg_virtio_user_descriptors(const struct port *port, int32_t fds[2])
{
  struct virtio_user *v = port->state;
  int call = atomic_load(&v->call);
  fds[0] = v->changed;
  fds[1] = call;
  return call < 0 ? 1 : 2;
}

/* Let the peer tell of packets, or no more; a number that is another one once there is
 * another device. What was sent before it sees this is in the ring by the next look. */
uint32_t pg_virtio_user_notify(const struct port *port, bool on)
{
  struct virtio_user *v = port->state;
  uint32_t version = atomic_load(&v->devices);
  int id = atomic_load_explicit(&v->id, memory_order_acquire);
  if (id >= 0 && on)
    rte_eth_dev_rx_intr_enable(id, 0);
  else if (id >= 0)
    rte_eth_dev_rx_intr_disable(id, 0);
  atomic_thread_fence(memory_order_seq_cst);
  return version;
}
