/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes IPv4 headers (RFC 791) from registers. The sum is taken of these:
 * a header that was just written in pieces, and is read as a vector, or by wider words,
 * has to wait until the cache has it all, for longer than anything else here takes.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#include "../checksum/sum.h"
#include "../wire/wire.h"

static inline void ip4_write_word(uint8_t *at, uint32_t word)
{
  memcpy(at, &word, sizeof word);
}

/* A header of `length` bytes, of which those behind the first 20, options, are there.
 * Its words are in the host's order and without the length and the checksum, addresses
 * in network order. */
static inline void ip4_write(uint8_t *out, uint32_t length, uint32_t version_to_total,
                             uint32_t id_to_offset, uint32_t ttl_and_protocol,
                             uint32_t source, uint32_t destination)
{
  uint32_t first = rte_cpu_to_be_32(version_to_total | length / 4 << 24);
  uint32_t second = rte_cpu_to_be_32(id_to_offset);
  uint32_t third = rte_cpu_to_be_32(ttl_and_protocol << 16);
  uint16_t checksum = pg_fold_not(
    (uint64_t)first + second + third + source + destination +
    pg_sum_words(out + IP4_HEADER, length - IP4_HEADER));
  ip4_write_word(out, first);
  ip4_write_word(out + 4, second);
  ip4_write_word(out + 8, third);
  store16(out + IP4_CHECKSUM, checksum);
  ip4_write_word(out + IP4_ADDRESSES, source);
  ip4_write_word(out + IP4_ADDRESSES + 4, destination);
}
