/* SPDX-License-Identifier: Apache-2.0
 *
 * Checksums and VLAN tags that scripts leave to the device: asked for in the mbuf's
 * flags, and done in software where the device can't. Plain declarations: LuaJIT reads
 * this file (core.declare).
 */
#pragma once

#include <stdint.h>

#include "../../src/native/api.h"

/* packet_type of a buffer whose addresses were moved to make room for a tag. */
enum { MG_TAGGED = 0x0a600000 };

void mg_offload_asked(struct packet **packets, uint32_t n, uint64_t asked);
void pg_mg_offload(struct packet **packets, uint32_t n);
void mg_untag(struct packet *p);
void mg_ask_checksums(struct packet **packets, int32_t n, uint64_t flags, uint32_t l2,
                      uint32_t l3);
void mg_ask_vlan(struct packet **packets, int32_t n, uint32_t tci);
