/* SPDX-License-Identifier: Apache-2.0
 *
 * Checksums over transport headers as 16-bit words in memory's order: they can be
 * stored as they are, and are 0 over data that holds the right one.
 */
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#include "../../src/native/api.h"
#include "../../src/native/kernels/checksum.h"
#include "ip.h"

enum { MINIMAL = 20, SOURCE = 12, DESTINATION = 16, PROTOCOL = 9, ROUTE_LEAST = 7 };

/* The header's destination, or the last one of its source route (RFC 9293, section
 * 3.1): four bytes. */
static const uint8_t *final_destination(const uint8_t *ip)
{
  uint32_t length = (ip[0] & 15) * 4;
  if (length > MINIMAL) {
    const uint8_t *route = pg_ip4_source_route(ip, length);
    if (route && route[1] >= ROUTE_LEAST)
      return route + route[1] - 4;
  }
  return ip + DESTINATION;
}

/* The checksum of the `n` bytes at `l4` and the pseudo header of the IPv4 header. The
 * header must be whole. */
uint32_t pg_ip4_l4_checksum(const uint8_t *ip, const uint8_t *l4, uint32_t n)
{
  uint64_t sum = pg_sum_words(ip + SOURCE, 4) + pg_sum_words(final_destination(ip), 4)
    + rte_cpu_to_be_16(ip[PROTOCOL]) + rte_cpu_to_be_16(n);
  return pg_fold_not(sum + pg_sum_bytes(l4, n));
}

/* The same for IPv6; `protocol` is that of the data. */
uint32_t pg_ip6_l4_checksum(const uint8_t *ip6, const uint8_t *l4, uint32_t n,
                            uint32_t protocol)
{
  return pg_fold_not(pg_pseudo(ip6 + 8, 32, protocol, n) + pg_sum_bytes(l4, n));
}

/* The checksum of `n` bytes without more. */
uint32_t pg_checksum_word(const uint8_t *data, uint32_t n)
{
  return pg_fold_not(pg_sum_bytes(data, n));
}
