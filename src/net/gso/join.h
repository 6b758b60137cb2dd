/* SPDX-License-Identifier: Apache-2.0
 *
 * Consecutive TCP segments of one flow that can be sent to a kernel as one frame.
 */
#pragma once

#include <stdint.h>

#include <linux/virtio_net.h>
#include <rte_mbuf.h>

enum { MOST_JOINED = 64, MOST_JOINED_HEADERS = 14 + 8 + 60 + 60 };

/* A frame made of several: its headers, and each packet's bytes behind them. */
struct joined {
  struct virtio_net_hdr offload;
  uint16_t count, headers_length;
  uint8_t headers[MOST_JOINED_HEADERS];
};

/* How many packets from the first on, up to `n`, can be sent as one; then, if more than
 * one, `j` is filled in. */
uint16_t pg_join(struct joined *j, struct rte_mbuf **packets, uint16_t n);
