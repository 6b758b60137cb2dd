/* SPDX-License-Identifier: Apache-2.0
 *
 * Receive queues of software, for a device that has fewer than are wanted: who receives
 * sorts each packet by the rules and the hash into the ring of its queue. Plain
 * declarations: LuaJIT reads this file (core.declare).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../net/classify/rules.h"

struct packet;

struct pg_soft_queue {
  void *ring;                /* packets that others received for it (packet_ring.c) */
  uint64_t missed;           /* that it had no room for */
  uint64_t polled;           /* TSC of the last time somebody asked for packets */
  int32_t stamps;            /* note the TSC in its packets */
};

/* Of a device. */
struct pg_soft_queues {
  struct pg_soft_queue *list[64];
  int32_t n;
  int32_t rss_queues, rss_base; /* those that get packets by their hash */
  int32_t lent;              /* packets are of a sender's pool: few wait for nobody */
  uint64_t made_at;          /* TSC */
  struct pg_rules rules;
};

bool pg_soft_queues_have_room(const struct pg_soft_queues *s, int32_t own, uint32_t burst,
                              uint64_t now);
uint32_t pg_soft_queues_sort(const struct pg_soft_queues *s, int32_t own,
                             struct packet **burst, uint32_t n, struct packet **packets,
                             uint64_t now);
void pg_soft_queues_put(const struct pg_soft_queues *s, int32_t to, struct packet *p,
                        uint64_t now);
void pg_stamp(struct packet **packets, uint32_t n, uint64_t tsc);
