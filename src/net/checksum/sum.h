/* SPDX-License-Identifier: Apache-2.0
 *
 * Internet checksums for C: sums in network order and not folded, so that several can
 * be added before the one fold at the end; and what becomes of a checksum when a word
 * that it covers does (RFC 1624).
 */
#pragma once

#include <netinet/in.h>
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

/* Where the checksum is in a header of that protocol (IANA's number), in bytes; 0: it has
 * none that is known. */
static inline uint32_t pg_checksum_at(uint32_t protocol)
{
  switch (protocol) {
  case IPPROTO_TCP: return 16;
  case IPPROTO_UDP: return 6;
  case IPPROTO_ICMP: case IPPROTO_ICMPV6: return 2;
  }
  return 0;
}

/* A checksum that was computed, as it is sent: UDP's 0 would say that there is none, so
 * that 0xffff, which is 0 too, stands for it (RFC 768; RFC 8200, section 8.1). */
static inline uint16_t pg_sum_to_send(uint32_t protocol, uint16_t sum)
{
  return sum == 0 && protocol == IPPROTO_UDP ? UINT16_MAX : sum;
}

/* What putting `new_word` in the place of `old_word` adds to the sum of what it is in
 * (RFC 1624, equation 3), `change` before. */
static inline uint16_t pg_add_change(uint16_t change, uint16_t old_word,
                                     uint16_t new_word)
{
  uint32_t s = (uint32_t)change + (uint16_t)~old_word + new_word;
  s = (s & 0xffff) + (s >> 16);
  return (uint16_t)((s & 0xffff) + (s >> 16));
}

/* The checksum `sum` after `change` was added to what it covers. */
static inline uint16_t pg_changed_sum(uint16_t sum, uint16_t change)
{
  uint32_t s = (uint16_t)~sum + (uint32_t)change;
  s = (s & 0xffff) + (s >> 16);
  return (uint16_t)~s;
}

/* The same of a protocol: UDP's 0, no checksum, stays 0. */
static inline uint16_t pg_changed_l4_sum(uint32_t protocol, uint16_t sum, uint16_t change)
{
  if (sum == 0 && protocol == IPPROTO_UDP)
    return 0;
  return pg_sum_to_send(protocol, pg_changed_sum(sum, change));
}
