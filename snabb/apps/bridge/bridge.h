/* SPDX-License-Identifier: Apache-2.0
 *
 * What apps.bridge shares with its kernel (bridge.c); plain declarations, as in
 * src/native/api.h.
 */
#pragma once

#include <stdint.h>

struct freelist;
struct link;

struct mac_entry { uint64_t mac; uint32_t seen; uint16_t port, group; };
struct mac_table {
  struct mac_entry *slot;    /* 8 a bucket */
  uint64_t seed;
  uint32_t mask;             /* buckets - 1 */
  uint32_t now, timeout;     /* seconds */
  uint32_t overflow;         /* an address found its bucket full */
};
struct bridge {
  struct mac_table table;
  struct link **out;         /* by port, from 1 */
  int32_t floods, discards;
  struct packet *flood[256], *discard[256];
};
void pg_mac_insert(struct mac_table *t, uint64_t mac, uint32_t port, uint32_t group);
int64_t pg_mac_lookup(const struct mac_table *t, uint64_t mac);
int pg_mac_used(const struct mac_table *t, uint32_t i);
int pg_bridge(struct bridge *b, struct freelist *account, struct link *in,
              uint32_t port, uint32_t group);
