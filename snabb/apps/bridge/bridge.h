/* SPDX-License-Identifier: Apache-2.0
 *
 * What apps.bridge shares with its kernel (bridge.c); plain declarations, as in
 * src/native/api.h.
 */
#pragma once

#include <stdint.h>

#include "../../../src/net/fdb/fdb.h"

struct freelist;
struct link;
struct packet;

/* The database's port is the number of a place: a port and its group. */
struct mac_place { uint16_t port, group; };
struct mac_table {
  struct fdb fdb;            /* in seconds */
  struct mac_place *place;
};
struct bridge {
  struct mac_table table;
  struct link **out;         /* by port, from 1 */
  int32_t floods, discards;
  struct packet *flood[256], *discard[256];
};
int pg_mac_used(const struct mac_table *t, uint32_t i);
int pg_bridge(struct bridge *b, struct freelist *account, struct link *in,
              uint32_t place);
