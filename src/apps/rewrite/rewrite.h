/* SPDX-License-Identifier: Apache-2.0
 *
 * What apps.rewrite shares with its C (rewrite.c); plain declarations, as in api.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;

/* Addresses of a prefix get another; bits behind that one's length stay. IPv4's are the
 * first 4 bytes. */
struct rewrite_ip { uint8_t from[16], to[16]; uint8_t length, to_length, version; };
struct rewrite_mac { uint8_t from[6], to[6]; };

enum { REWRITE_MOST = 256 };
struct rewrite {
  struct rewrite_ip ip[256];
  struct rewrite_mac mac[256];
  uint16_t port[65536];      /* by the old one */
  uint32_t ips, macs;
  uint8_t ports;             /* is there a port to change? */
  uint64_t changed;          /* packets */
  uint64_t stale;            /* whose transport checksum lies elsewhere, and is wrong now */
};

/* rewrite.c */
void pg_rewrite_packet(struct rewrite *r, struct packet *p);
bool pg_rewrite_checksums(struct packet *p);
