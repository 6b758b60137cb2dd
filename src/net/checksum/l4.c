/* SPDX-License-Identifier: Apache-2.0
 *
 * Checksums over transport headers as 16-bit words in memory's order: they can be
 * stored as they are, and are 0 over data that holds the right one.
 */
#include <netinet/in.h>
#include <stdint.h>

#include "../wire/ip4_options.h"
#include "../wire/wire.h"
#include "checksum.h"
#include "sum.h"

enum { DESTINATION = IP4_ADDRESSES + 4, ROUTE_LEAST = 7 };

/* Four bytes: the destination that the header has where the checksum is checked, the last
 * one of its source route, if it has one (RFC 791, section 3.1). */
static const uint8_t *final_destination(const uint8_t *ip)
{
  uint32_t length = (ip[0] & 15) * 4;
  if (length > IP4_HEADER) {
    const uint8_t *route = ip4_source_route(ip, length);
    if (route && route[1] >= ROUTE_LEAST)
      return route + route[1] - 4;
  }
  return ip + DESTINATION;
}

/* The checksum of `n` bytes without more. */
uint32_t pg_checksum_word(const uint8_t *data, uint32_t n)
{
  return pg_fold_not(pg_sum_bytes(data, n));
}

/* The checksum of the `n` bytes at `l4` and the pseudo header of the IPv4 header. The
 * header must be whole. */
uint32_t pg_ip4_l4_checksum(const uint8_t *ip, const uint8_t *l4, uint32_t n)
{
  uint64_t sum = load32(ip + IP4_ADDRESSES) + (uint64_t)load32(final_destination(ip))
    + rte_cpu_to_be_16(ip[IP4_PROTOCOL]) + pg_from_host(n);
  return pg_fold_not(sum + pg_sum_bytes(l4, n));
}

/* The same for IPv6; `protocol` is that of the data. */
uint32_t pg_ip6_l4_checksum(const uint8_t *ip6, const uint8_t *l4, uint32_t n,
                            uint32_t protocol)
{
  return pg_fold_not(pg_pseudo(ip6 + IP6_ADDRESSES, 32, protocol, n) +
                     pg_sum_bytes(l4, n));
}

/* Set the checksum of the TCP, UDP or ICMP (without pseudo header) header at `l4`, over
 * `n` bytes, by the IPv4 header; not if `n` ends before it. */
void pg_ip4_l4_set(const uint8_t *ip, uint8_t *l4, uint32_t n, uint32_t protocol)
{
  uint32_t at = pg_checksum_at(protocol);
  if (!at || n < at + 2)
    return;
  store16(l4 + at, 0);
  uint16_t sum = protocol == IPPROTO_ICMP ? pg_checksum_word(l4, n)
                                          : pg_ip4_l4_checksum(ip, l4, n);
  store16(l4 + at, pg_sum_to_send(protocol, sum));
}

/* The same of TCP, UDP and ICMPv6 for IPv6. */
void pg_ip6_l4_set(const uint8_t *ip6, uint8_t *l4, uint32_t n, uint32_t protocol)
{
  uint32_t at = pg_checksum_at(protocol);
  if (!at || n < at + 2)
    return;
  store16(l4 + at, 0);
  store16(l4 + at, pg_sum_to_send(protocol, pg_ip6_l4_checksum(ip6, l4, n, protocol)));
}
