/* SPDX-License-Identifier: Apache-2.0
 *
 * What apps.pcap.sides shares with its C; plain declarations, as in api.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../net/flow/flow.h"

/* Two ends in the order of their bytes, so that both directions have one key. Ends are
 * addresses and ports (0: all that isn't TCP, UDP or SCTP), or Ethernet addresses. */
struct sides_key {
  uint8_t low[16], high[16];
  uint16_t low_port, high_port;
  uint8_t protocol, version; /* version 0: Ethernet addresses */
  uint8_t unused[2];
};

enum { SIDES_SYN, SIDES_PORT, SIDES_IP, SIDES_MAC };
enum { SIDE_CLIENT = 1, SIDE_SERVER = 2 };
enum { SIDES_MOST = 256 };
struct sides_prefix { uint8_t address[16]; uint8_t length, version; };
struct sides {
  struct flow_table *table;  /* of key and the uint64_t of who is the client: 0: low */
  uint8_t by;
  uint32_t count;            /* of servers */
  struct sides_prefix server[256];
};

/* sides.c */
int pg_side(struct sides *s, const uint8_t *frame, uint32_t n);
