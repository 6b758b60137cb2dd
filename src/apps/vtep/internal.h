/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernels of apps.vtep share: reading packets, mixing numbers.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../native/api.h"
#include "../../net/wire/wire.h"
#include "vtep.h"

enum { UDP_VXLAN = 16 }; /* bytes of both headers */

static inline uint32_t rol(uint32_t x, int n)
{
  return x << n | x >> (32 - n);
}

/* Three numbers to one. The rotations are those of the last step of Bob Jenkins's
 * lookup3. */
static inline uint32_t mix(uint32_t a, uint32_t b, uint32_t c)
{
  c = (c ^ b) - rol(b, 14);
  a = (a ^ c) - rol(c, 11);
  b = (b ^ a) - rol(a, 25);
  c = (c ^ b) - rol(b, 16);
  a = (a ^ c) - rol(c, 4);
  b = (b ^ a) - rol(a, 14);
  return (c ^ b) - rol(b, 24);
}

/* Is it for the neighbour on the wire alone? Groups that no bridge forwards (spanning
 * tree, pause, LACP: IEEE 802.1Q, table 8-1), and LLDP wherever it goes. */
static inline bool is_control(const uint8_t *frame, uint32_t type)
{
  static const uint8_t reserved[] = {0x01, 0x80, 0xc2, 0, 0};
  return (frame[0] & 1) &&
    ((memcmp(frame, reserved, sizeof reserved) == 0 && frame[5] < 16) ||
     type == TYPE_LLDP);
}
