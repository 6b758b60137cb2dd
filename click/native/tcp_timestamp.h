/* SPDX-License-Identifier: Apache-2.0
 *
 * The timestamps option of a TCP segment (RFC 7323, section 3), read and rewritten by
 * Lua. Plain declarations, as in native/api.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;

/* TSval and TSecr in host order; `at`: where TSval is, from the TCP header's first byte. */
struct click_tcp_timestamp {
  uint32_t value, echo, at;
};

/* False: the packet has no whole TCP header with that option. */
bool pg_tcp_timestamp(const struct packet *p, struct click_tcp_timestamp *t);

/* Write them back to the packet that they were read from; its checksum follows. */
void pg_tcp_set_timestamp(struct packet *p, const struct click_tcp_timestamp *t);
