/* SPDX-License-Identifier: Apache-2.0
 *
 * Ports whose device goes while they are in use. Cards that are unplugged, or given to
 * another driver: the kernel asks for the device (vfio-pci, by an eventfd), DPDK passes
 * that on as an event, and the kernel waits until the device is closed. And kernel
 * interfaces, which may come back. The port stays, and has nothing behind it: it receives
 * nothing, and drops what it is to send.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_dev_event_callback_register, until DPDK 24 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pause.h>

#include "../api.h"
#include "../driver.h"
#include "internal.h"

static atomic_bool asked[RTE_MAX_ETHPORTS]; /* by DPDK's number of the port */

static void heard(const char *device, enum rte_dev_event_type event, void *number)
{
  (void)device;
  if (event == RTE_DEV_EVENT_REMOVE)
    atomic_store(&asked[(uintptr_t)number], true);
}

void pg_port_watch(const struct port *port)
{
  atomic_store(&asked[port->id], false);
  rte_dev_event_callback_register(port->name, heard, (void *)(uintptr_t)port->id);
}

void pg_port_unwatch(const struct port *port)
{
  while (rte_dev_event_callback_unregister(port->name, heard,
                                           (void *)(uintptr_t)port->id) == -EAGAIN)
    rte_pause(); /* it is being called */
}

/* Is the port's device to be closed, as the card is unplugged? */
bool pg_port_is_to_go(const struct port *port)
{
  return !port->own && atomic_load_explicit(&asked[port->id], memory_order_relaxed);
}

uint16_t pg_receive_nothing(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  (void)port, (void)packets, (void)n;
  return 0;
}

/* Nothing comes here: it fits no port whose max_frame is 0 (burst.c). */
uint16_t pg_send_nowhere(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  port->tx_unplugged += n;
  rte_pktmbuf_free_bulk(packets, n);
  return n;
}

static void stats(const struct port *port, struct port_stats *stats)
{
  (void)port; /* they are its past */
  *stats = (struct port_stats){0};
}

static int no_link(const struct port *port, struct port_link *link)
{
  (void)port;
  *link = (struct port_link){0};
  return 0;
}

static int leave(struct port *port)
{
  (void)port;
  return 0;
}

static const struct own_driver gone = {.name = "unplugged",
                                       .receive = pg_receive_nothing,
                                       .send = pg_send_nowhere,
                                       .stats = stats,
                                       .link = no_link,
                                       .close = leave};

void pg_port_set_gone(struct port *port)
{
  port->gone = 1;
  port->min_frame = 1;
  port->max_frame = 0;
}

static void have_nothing(struct port *port)
{
  port->own = &gone;
  port->special = 1;
  port->state = NULL;
  port->offloads = 0;
  port->guest = GUEST_NONE;
  pg_port_set_gone(port);
}

/* Take the device away from under the port, and close it if this is the `last` app that
 * has a queue of it. Its statistics stay as they were. */
void pg_port_let_go(struct port *port, bool last)
{
  struct port_stats then = port->past;
  pg_port_stats(port, &then);
  port->lent = 0; /* whoever made it: it must go */
  if (last)
    pg_port_unplug(port);
  have_nothing(port);
  port->past = then;
}

/* A port called `name` whose device isn't there yet. */
void pg_port_absent(struct port *port, const char *name)
{
  pg_port_own(port, &gone, NULL);
  snprintf(port->name, sizeof port->name, "%s", name);
  have_nothing(port);
}

/* The device is there again, and `opened` and started: the port has it from now on, and
 * counts on. */
void pg_port_come_back(struct port *port, const struct port *opened)
{
  struct port before = *port;
  *port = *opened;
  port->past = before.past;
  port->account = before.account;
  port->burst = before.burst;
  port->full_bursts = before.full_bursts;
  port->queue = before.queue;
  port->rxpackets = before.rxpackets, port->rxbytes = before.rxbytes;
  port->txpackets = before.txpackets, port->txbytes = before.txbytes;
  port->rx_oversize = before.rx_oversize;
  port->rx_nomem = before.rx_nomem;
  port->rx_bad_offload = before.rx_bad_offload;
  port->tx_oversize = before.tx_oversize;
  port->tx_runt = before.tx_runt;
  port->tx_unplugged = before.tx_unplugged;
}
