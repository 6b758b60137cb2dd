/* SPDX-License-Identifier: Apache-2.0
 *
 * What apps.packet_filter shares with its kernel (connections.c); plain declarations, as
 * in src/native/api.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct filter;
struct flow_table;

/* A key of 40 bytes: both ends. An IPv4 end is one number with its port; the ports of IPv6
 * are in the lower half of `kind`, the version and the protocol in the upper. All are
 * words, since a word is read slowly that was just written in parts. */
struct connection { uint64_t a[2], b[2], kind; };

/* Records of struct connection, with an age. */
struct connections {
  struct flow_table *table;
  int64_t now;               /* milliseconds */
};

bool pg_connection(const uint8_t *data, uint32_t length, struct connection *c);
bool pg_connections_find(struct connections *t, const struct connection *c);
void pg_connections_add(struct connections *t, const struct connection *c);
uint32_t pg_connections_count(const struct connections *t);
int pg_filter_stateful(const struct filter *f, struct connections *t,
                       const uint8_t *data, uint32_t length);
