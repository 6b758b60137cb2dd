/* SPDX-License-Identifier: Apache-2.0
 *
 * Internet checksums (RFC 1071) and CRC32c, for C and Lua. Plain declarations: LuaJIT
 * reads this file (core.declare). sum.h has what C adds up itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;

/* checksum.c: numbers in host order */
uint32_t pg_checksum(const void *data, uint32_t n, uint32_t initial);
int64_t pg_checksum_by(int i, const void *data, uint32_t n, uint32_t initial);
const char *pg_checksum_kernel(int i);
uint32_t pg_pseudo_sum(const void *addresses, uint32_t n, uint32_t protocol,
                       uint32_t length);

/* crc32c.c */
uint32_t pg_crc32c(const void *data, uint32_t n, uint32_t previous);
uint32_t pg_crc32c_by_table(const void *data, uint32_t n, uint32_t previous);

/* fill.c: into packets, at offsets */
bool pg_fill_ip4(struct packet *p, uint32_t l3);
bool pg_fill_l4(struct packet *p, uint32_t l3, uint32_t l4, uint32_t protocol);
bool pg_fill_both(struct packet *p, uint32_t l3, uint32_t protocol);
bool pg_fill_pseudo(struct packet *p, uint32_t l3, uint32_t l4, uint32_t protocol);
int pg_checksum_ip4(struct packet **packets, int n, uint32_t l3);
int pg_checksum_l4(struct packet **packets, int n, uint32_t l3, uint32_t l4,
                   uint32_t protocol);

/* l4.c: as words in memory's order, of headers that are known to be whole */
uint32_t pg_checksum_word(const uint8_t *data, uint32_t n);
uint32_t pg_ip4_l4_checksum(const uint8_t *ip, const uint8_t *l4, uint32_t n);
uint32_t pg_ip6_l4_checksum(const uint8_t *ip6, const uint8_t *l4, uint32_t n,
                            uint32_t protocol);
void pg_ip4_l4_set(const uint8_t *ip, uint8_t *l4, uint32_t n, uint32_t protocol);
void pg_ip6_l4_set(const uint8_t *ip6, uint8_t *l4, uint32_t n, uint32_t protocol);
