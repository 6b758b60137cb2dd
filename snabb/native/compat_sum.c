/* SPDX-License-Identifier: Apache-2.0
 *
 * The checksum functions of Snabb's C code, by the names its programs call through
 * ffi.C; snabb/lib/checksum_h.lua declares them to Lua.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_common.h>

#include "../../src/native/api.h"
#include "../../src/net/checksum/checksum.h"
#include "../../src/net/checksum/sum.h"
#include "../../src/net/wire/wire.h"
#include "snabb.h"

enum { UNKNOWN = (int)0xffff0001, BAD_HEADER = (int)0xffff0002 };

/* The checksum of `n` bytes, with `initial` added; both in host order. */
uint16_t cksum_generic(unsigned char *p, size_t n, uint16_t initial)
{
  return pg_checksum(p, n, initial);
}

/* Give a 16-bit word in network order a new value, in host order, and change the
 * checksum that covers it (RFC 1624, equation 3). */
void checksum_update_incremental_16(uint16_t *checksum, uint16_t *word,
                                    uint16_t value)
{
  uint16_t now = rte_cpu_to_be_16(value);
  *checksum = pg_fold_not((uint64_t)(uint16_t)~*checksum + (uint16_t)~*word + now);
  *word = now;
}

/* The same with a 32-bit word. */
void checksum_update_incremental_32(uint16_t *checksum, uint32_t *word,
                                    uint32_t value)
{
  uint32_t now = rte_cpu_to_be_32(value);
  *checksum = pg_fold_not((uint64_t)(uint16_t)~*checksum + (uint32_t)~*word + now);
  *word = now;
}

/* The sum over the pseudo header, in host order, of the TCP or UDP packet in the `n`
 * bytes of IPv4 or IPv6; 0xffff0001 if it is none, 0xffff0002 if IPv4's header is wrong
 * or cut short. Nothing behind IP's length is counted. */
uint32_t pseudo_header_initial(const int8_t *buffer, size_t n)
{
  const uint8_t *ip = (const uint8_t *)buffer;
  uint32_t version = n > 0 ? ip[0] >> 4 : 0;
  if ((version != 4 || n < IP4_HEADER) && (version != 6 || n < IP6_HEADER))
    return UNKNOWN;
  uint32_t protocol = version == 4 ? ip[9] : ip[6];
  if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
    return UNKNOWN;
  if (version == 6)
    return pg_pseudo_sum(ip + 8, 32, protocol, get16(ip + 4));
  uint32_t header = (ip[0] & 15) * 4, all = RTE_MIN(get16(ip + 2), n);
  if (header < IP4_HEADER || header > all || pg_checksum(ip, header, 0) != 0)
    return BAD_HEADER;
  return pg_pseudo_sum(ip + 12, 8, protocol, all - header);
}
