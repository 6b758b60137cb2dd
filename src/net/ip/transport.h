/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a frame's IP header and what it carries are, for C and Lua. Plain declarations:
 * LuaJIT reads this file (core.declare).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Offsets are from the data's first byte. `end` is where IP's length ends, or the data
 * does, if that is earlier (`cut`). */
struct transport {
  uint32_t ip, l4, end;
  uint16_t offset;           /* of a fragment: bytes before it; 0: the first, or whole */
  uint8_t version;           /* 4 or 6 */
  uint8_t protocol;          /* IANA's number of what is at l4 */
  bool fragment;             /* one of several */
  bool cut;                  /* the data has less than IP's length */
  bool routed;               /* a source route: the pseudo header has its last address */
};

enum { TRANSPORT_TAGS = 4 };  /* VLAN tags before the IP header, at most */

/* transport.c */
bool pg_transport(struct transport *t, const uint8_t *frame, uint32_t n);
bool pg_transport_ip(struct transport *t, const uint8_t *data, uint32_t n, uint32_t at);
