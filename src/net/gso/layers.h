/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the headers of a frame are, down to the TCP or UDP header that a kernel's
 * offload data (struct virtio_net_hdr) speaks of; through tunnels, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../wire/wire.h"

enum layer { LAYER_IP4, LAYER_IP6, LAYER_UDP };

/* IP headers and the UDP headers of tunnels, from the outermost on; the last is the
 * IP header over TCP or UDP, which is at `l4`. */
struct layers {
  struct { uint16_t at; uint8_t kind; } of[8];
  uint16_t count, l4, end;   /* `end`: where the payload begins */
  uint8_t protocol;          /* IPPROTO_TCP or IPPROTO_UDP */
};

/* Find the header of `protocol` in a frame's first `n` bytes: the one at offset
 * `wanted`, or with 0 the first there is. False if it isn't there. */
bool pg_layers(struct layers *l, const uint8_t *frame, uint32_t n, uint8_t protocol,
               uint32_t wanted);
