/* SPDX-License-Identifier: Apache-2.0
 *
 * Fragments of IP, for C and Lua (README.md). Plain declarations: LuaJIT reads this file
 * (core.declare).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../flow/flow.h"

struct packet;
struct freelist;

struct fragment_range { uint16_t first, last; };

/* What there is of a datagram. `most` of struct fragment_range lie behind it. */
struct datagram {
  uint32_t present, reached; /* bytes of payload; the end of the one farthest back */
  int32_t total;             /* bytes of payload in all; -1: not known yet */
  uint16_t headers;          /* bytes; 0: not here yet */
  uint16_t count, most;      /* ranges that there are, and may be */
  bool overlaps;             /* may they? Else they end the datagram */
};

enum { REASSEMBLY_PENDING, REASSEMBLY_COMPLETE, REASSEMBLY_INVALID, REASSEMBLY_TOO_LONG };

/* Datagrams by key, each in a buffer: struct datagram, ranges, headers, payload. */
enum { FRAGMENT_HEADERS = 80 };
struct reassembly {
  struct flow_table *table;
  uint8_t *buffers;          /* of number 1 and on, `buffer` bytes each */
  uint32_t buffer, fragments; /* fragments: the most of a datagram */
  uint32_t longest;          /* bytes of a datagram, headers and all */
  uint32_t length;           /* of the one that was completed last, and where it is */
  uint8_t *whole;
  bool evicted;              /* did another datagram go for the last fragment's? */
};

/* cut.c */
enum { FRAGMENTS_MAX = 1400, FRAGMENT_NO_PACKETS = -1 };
int32_t pg_ip4_cut(struct freelist *list, struct packet *p, uint32_t at, uint32_t link,
                   uint32_t mtu, bool units, uint32_t headroom, struct packet **rest);
int32_t pg_ip6_cut(struct freelist *list, struct packet *p, uint32_t link, uint32_t mtu,
                   int32_t id, uint32_t headroom, struct packet **rest);

/* reassembly.c */
int pg_datagram_add(struct datagram *d, uint8_t *to, const uint8_t *payload,
                    uint32_t first, int32_t size, bool more, uint32_t room);
int pg_reassembly_add(struct reassembly *r, const void *key, int64_t now,
                      const uint8_t *payload, uint32_t first, int32_t size, bool more,
                      const uint8_t *headers_at, uint32_t headers);
