/* SPDX-License-Identifier: Apache-2.0
 *
 * Internet checksums within the shim: sums in network order and not folded, so
 * that several can be added before the one fold at the end.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

enum { FEW_BYTES = 32 }; /* below that, calling a vector kernel costs more */

/* Congruent to the sum of the native 16-bit words of `n` bytes modulo 65535,
 * and 0 only if all are; a last odd byte is the first of a word. Word by word: a
 * vector of what was just written in pieces waits until the cache has them all. */
static inline uint64_t pg_sum_words(const uint8_t *p, uint32_t n)
{
  uint64_t sum = 0;
  uint32_t word;
  uint16_t last;
  for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
    memcpy(&word, p, sizeof word);
    __asm__("" : "+r"(word)); /* so that it isn't made a vector */
    sum += word;
  }
  if (n >= sizeof last) {
    memcpy(&last, p, sizeof last);
    sum += last;
    n -= sizeof last;
    p += sizeof last;
  }
  if (n > 0) {
    last = 0;
    memcpy(&last, p, 1);
    sum += last;
  }
  return sum;
}

uint64_t pg_sum_bytes(const uint8_t *p, uint32_t n);

/* A sum in host order, as one to be added to others. */
static inline uint64_t pg_from_host(uint32_t sum)
{
  return rte_cpu_to_be_16(sum & 0xffff) + (uint64_t)rte_cpu_to_be_16(sum >> 16);
}

/* The complement of the sum folded to 16 bits: what a header holds. */
static inline uint16_t pg_fold_not(uint64_t sum)
{
  sum = (sum & UINT32_MAX) + (sum >> 32);
  sum = (sum & UINT32_MAX) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return ~sum;
}

static inline uint64_t pg_pseudo(const uint8_t *addresses, uint32_t n,
                                 uint32_t protocol, uint32_t length)
{
  return pg_sum_words(addresses, n) + rte_cpu_to_be_16(protocol) +
         pg_from_host(length);
}
