/* SPDX-License-Identifier: Apache-2.0
 *
 * ICMP errors, for C and Lua. Plain declarations: LuaJIT reads this file (core.declare).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What an error says: type, code, and the second word of its header, in host order. */
struct icmp_kind { uint8_t type, code; uint32_t word; };

/* error.c */
bool pg_icmp4_deserves(const uint8_t *ip, uint32_t available);
bool pg_icmp6_deserves(const uint8_t *ip6, uint32_t available, uint32_t type,
                       uint32_t code);
void pg_icmp4_error(uint8_t *out, uint32_t header, uint32_t id, uint32_t ttl,
                    uint32_t source, const uint8_t *to, const struct icmp_kind *kind,
                    const uint8_t *quote, uint32_t n);
void pg_icmp6_error(uint8_t *out, const uint8_t *source, const uint8_t *to,
                    const struct icmp_kind *kind, uint32_t options,
                    const uint8_t *quote, uint32_t n);
