/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices: ports of Perigee's with as many queues as a script wants. Those that the
 * port hasn't are made of software: packets are sorted into rings (receive.c), and who
 * sends takes a lock (send.c). All tasks share them. devices/native.lua makes them.
 */
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "../../src/native/driver.h"
#include "internal.h"

/* Locks of a device's queues, and others that are held for a few instructions. */
void mg_spin_lock(int32_t *lock) { pg_spin_lock(lock); }
void mg_spin_unlock(int32_t *lock) { pg_spin_unlock(lock); }

/* Receive what has come to the port, and free it: how many packets. */
uint32_t mg_port_discard(struct port *port)
{
  struct rte_mbuf *burst[MG_BURST];
  uint32_t n = 0, got;
  while ((got = port_receive(port, burst, MG_BURST)) > 0) {
    rte_pktmbuf_free_bulk(burst, got);
    n += got;
  }
  return n;
}
