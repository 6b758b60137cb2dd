/* SPDX-License-Identifier: Apache-2.0
 *
 * A netmap port: a descriptor of /dev/netmap, and the rings in the memory that the kernel
 * shares. Other processes may share it, too (all cards' buffers are in one region): what
 * doesn't change is kept here, what does is looked at before it is used.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "../../native/api.h"
#include "abi.h"
#include "netmap.h"

enum { NETMAP_MOST_RINGS = 64 };

struct netmap_queue {
  struct netmap_ring *ring;
  uint8_t *buffers;          /* buffer 0 */
  uint32_t slots, buffer_bytes;
  uint32_t most_index;       /* of a buffer that is in the memory whole */
  uint32_t released;         /* slots given back since the kernel was told */
};

struct netmap_port {
  int fd, promiscuous;       /* the latter keeps the interface so; -1: none */
  bool is_interface;
  char name[NETMAP_NAME];
  uint8_t *memory;
  size_t bytes;
  struct netmap_queue send, receive[NETMAP_MOST_RINGS];
  uint32_t rings, turn;      /* to receive from; which is the first next time */
  struct port_stats counts;
};

/* Tell the kernel what was sent and received, and hear what is new (NIOCTXSYNC or
 * NIOCRXSYNC). */
int pg_netmap_sync(const struct netmap_port *s, unsigned long what);

/* Has the kernel, or the card, packets yet to send? */
bool pg_netmap_is_sending(const struct netmap_port *s);

/* burst.c: of struct own_driver. */
uint16_t pg_netmap_receive(struct port *port, struct rte_mbuf **packets, uint16_t n);
uint16_t pg_netmap_send(struct port *port, struct rte_mbuf **packets, uint16_t n);
