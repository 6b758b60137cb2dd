/* SPDX-License-Identifier: Apache-2.0
 *
 * Rings of packets between threads (packet_ring.c). Plain declarations: LuaJIT reads this
 * file (core.declare).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet;

void *pg_packet_ring_new(uint32_t size, int32_t socket, bool shared);
uint32_t pg_packet_ring_free(void *ring);
int32_t pg_packet_ring_put(void *ring, struct packet **packets, uint32_t n);
int32_t pg_packet_ring_take(void *ring, struct packet **packets, uint32_t n);
uint32_t pg_packet_ring_count(const void *ring);
uint32_t pg_packet_ring_room(const void *ring);
