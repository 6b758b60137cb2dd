/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of a device's queues a packet is for (rules.c).
 */
#pragma once

#include <stdint.h>

#include "internal.h"

enum { MG_BUCKETS = 128 }; /* of a card's table from hashes to queues */

/* The number of the queue, or less than 0: none. */
int32_t mg_queue_for(const struct mg_device *d, const struct rte_mbuf *m);
