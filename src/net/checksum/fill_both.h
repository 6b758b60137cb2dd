/* SPDX-License-Identifier: Apache-2.0
 *
 * Both checksums of the usual packet in one pass, in line: for bursts of which each packet
 * asks for them (native/dpdk/offload.c). Others are fill.c's.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../native/api.h"
#include "../wire/wire.h"
#include "sum.h"

static inline uint8_t *packet_at(const struct packet *p, uint32_t offset)
{
  return p->buf_addr + p->data_off + offset;
}

/* The shortest header of a protocol, in bytes. */
static inline uint32_t shortest_l4(uint32_t protocol)
{
  return protocol == IPPROTO_TCP ? TCP_HEADER : pg_checksum_at(protocol) + 2;
}

/* The sum of `n` bytes but for the checksum at `at` among them, which is neither read
 * nor cleared first: a wide load behind a narrow store waits for it. */
static inline uint64_t sum_without(const uint8_t *p, uint32_t n, uint32_t at)
{
  return pg_sum_words(p, at) + pg_sum_bytes(p + at + 2, n - at - 2);
}

/* Set the checksums of `protocol`, UDP or TCP, and of the IPv4 header without options at
 * offset `l3`; false, and nothing done, if the packet isn't of that kind, or shorter than
 * it says. */
static inline bool fill_both(struct packet *p, uint32_t l3, uint32_t protocol)
{
  uint8_t *ip = packet_at(p, l3), *l4 = ip + IP4_HEADER;
  uint32_t least = IP4_HEADER + shortest_l4(protocol), sum_at = pg_checksum_at(protocol);
  if (p->length < l3 + least || ip[0] != 0x45)
    return false;
  uint32_t total = get16(ip + IP4_LENGTH);
  if (total > p->length - l3 || total < least)
    return false;
  uint32_t n = total - IP4_HEADER;
  uint64_t addresses = pg_sum_words(ip + IP4_ADDRESSES, 8);
  uint64_t pseudo = addresses + rte_cpu_to_be_16(protocol) + rte_cpu_to_be_16(n);
  uint16_t sum = pg_fold_not(pseudo + sum_without(l4, n, sum_at));
  store16(ip + IP4_CHECKSUM, pg_fold_not(pg_sum_words(ip, IP4_CHECKSUM) + addresses));
  store16(l4 + sum_at, pg_sum_to_send(protocol, sum));
  return true;
}
