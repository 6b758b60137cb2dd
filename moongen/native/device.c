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

/* Nobody receives from the device's port (`rx`), or sends to it (`tx`), until
 * mg_device_release(): others wait. */
void mg_device_hold(struct mg_device *d, bool rx, bool tx)
{
  for (int i = 0; rx && i < d->sources; i++)
    pg_spin_lock(&d->rx_locks[i]);
  for (int i = 0; tx && i < d->sinks; i++)
    pg_spin_lock(&d->tx_locks[i]);
}

void mg_device_release(struct mg_device *d, bool rx, bool tx)
{
  for (int i = 0; rx && i < d->sources; i++)
    pg_spin_unlock(&d->rx_locks[i]);
  for (int i = 0; tx && i < d->sinks; i++)
    pg_spin_unlock(&d->tx_locks[i]);
}

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
