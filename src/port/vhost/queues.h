/* SPDX-License-Identifier: Apache-2.0
 *
 * The queues of a virtual machine with several of them (queues.c), all that are a
 * port's: a burst from them in turn, and a burst to those that it uses.
 */
#pragma once

#include <stdint.h>

#include "../../native/api.h"

struct rte_mbuf;

uint16_t pg_guest_receive_all(struct port *port, struct rte_mbuf **packets, uint16_t n);
uint16_t pg_guest_send_all(struct port *port, struct rte_mbuf **packets, uint16_t n);

/* A number that is another one once a queue or the guest has come or gone. */
uint32_t pg_guest_changes(const struct port *port);

/* How many pairs the guest has begun to use since the last call, if that is more than the
 * port has; else 0. One of several workers is told. */
uint16_t pg_guest_pairs_beyond(const struct port *port);
