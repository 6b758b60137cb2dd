/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames that a kernel hands over unsegmented (GSO), cut into packets.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <linux/virtio_net.h>

#include "layers.h"

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5 /* since Linux 6.2 */
#endif

enum { MOST_HEADERS = 512,   /* bytes of all headers together */
       MOST_SEGMENTS = 1000 };

/* A frame to be cut up. */
struct unsegmented {
  struct layers layers;
  uint32_t payload;          /* bytes in all, */
  uint16_t size;             /* and of each segment but the last */
  uint16_t count;            /* of segments, up to MOST_SEGMENTS */
  bool cwr_once;             /* only the first has TCP's CWR (RFC 3168, section 6.1.2) */
  uint8_t headers[MOST_HEADERS];
};

/* Understand a frame of `length` bytes, of which the first `n` (up to MOST_HEADERS)
 * are in u->headers, by the kernel's data on it, whose offsets count from there. False
 * if it can't be cut up. */
bool pg_unsegmented(struct unsegmented *u, uint32_t n, uint32_t length,
                    const struct virtio_net_hdr *offload);

/* Bytes of payload of segment `i`. */
static inline uint32_t pg_segment_payload(const struct unsegmented *u, uint32_t i)
{
  return i + 1 < u->count ? u->size : u->payload - i * u->size;
}

/* Write the headers of segment `i` in front of its payload, which is there. */
void pg_segment_headers(const struct unsegmented *u, uint32_t i, uint8_t *packet);
