/* SPDX-License-Identifier: Apache-2.0
 *
 * What routers do with options of IPv4 headers (RFC 791, section 3.1; RFC 1812, section
 * 5.2.4).
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#include "../../src/native/api.h"
#include "../../src/net/checksum/checksum.h"
#include "../../src/net/wire/ip4_options.h"
#include "ip.h"

enum { ADDRESS = 4 };
enum { TIMES = 0, ADDRESSES_AND_TIMES = 1, PRESPECIFIED = 3, MOST_OVERFLOWS = 15 };

/* What became of an option: left alone, written to, or wrong at this byte of it. */
enum { UNCHANGED = 0, CHANGED = -1 };

static int32_t record_route(const struct ip4_gateway *g, uint8_t *o, int32_t n)
{
  if (n < 3)
    return 1;
  int32_t at = o[2] - 1;
  if (at >= OPTION_FIRST_ENTRY - 1 && at + ADDRESS <= n) {
    memcpy(o + at, &g->address, ADDRESS);
    o[2] += ADDRESS;
    return CHANGED;
  }
  return at == n ? UNCHANGED : 2;
}

static bool is_mine(const struct ip4_gateway *g, const uint8_t *at)
{
  uint32_t address;
  memcpy(&address, at, sizeof address);
  if (address == g->address)
    return true;
  for (uint32_t i = 0; i < g->n; i++)
    if (address == g->others[i])
      return true;
  return false;
}

/* There is no room for the time: count that. */
static int32_t overflow(uint8_t *o)
{
  if (o[3] >> 4 == MOST_OVERFLOWS)
    return 3;
  o[3] += 1 << 4;
  return CHANGED;
}

static int32_t timestamp(const struct ip4_gateway *g, uint8_t *o, int32_t n,
                         uint32_t now)
{
  if (n < 4)
    return 1;
  int32_t at = o[2] - 1, kind = o[3] & 15;
  if (at < 4)
    return 2;
  bool with_address = kind == ADDRESSES_AND_TIMES || kind == PRESPECIFIED;
  int32_t entry = with_address ? 8 : 4;
  bool room = at + entry <= n;
  if (kind == PRESPECIFIED ? !room : kind != TIMES && kind != ADDRESSES_AND_TIMES)
    return 3;
  if (!room)
    return overflow(o);
  if (kind == PRESPECIFIED && !is_mine(g, o + at))
    return UNCHANGED;
  if (kind == ADDRESSES_AND_TIMES)
    memcpy(o + at, &g->address, ADDRESS);
  memcpy(o + at + entry - sizeof now, &now, sizeof now);
  o[2] += entry;
  return CHANGED;
}

/* Do what routers do with options of the header, which must be whole, and set its
 * checksum if that changes it. `now_ms` is the time since midnight UT. Returns 0, or the
 * offset in the header of the byte that is wrong. */
int32_t pg_ip4_gateway_options(const struct ip4_gateway *g, uint8_t *header,
                               uint32_t now_ms)
{
  int32_t length = (header[0] & 15) * 4;
  uint32_t now = rte_cpu_to_be_32(now_ms);
  bool changed = false;
  for (int32_t at = IP4_HEADER; at < length && header[at] != OPTION_END;) {
    uint8_t *o = header + at;
    if (*o == OPTION_NOTHING) {
      at++;
      continue;
    }
    int32_t n = option_length(o, header + length), result = UNCHANGED;
    if (n == 0)
      return at + 1;
    if (*o == OPTION_RECORD_ROUTE)
      result = record_route(g, o, n);
    else if (*o == OPTION_TIMESTAMP)
      result = timestamp(g, o, n, now);
    if (result > 0)
      return at + result;
    changed = changed || result == CHANGED;
    at += n;
  }
  if (changed) {
    memset(header + IP4_CHECKSUM, 0, 2);
    uint16_t sum = pg_checksum_word(header, length);
    memcpy(header + IP4_CHECKSUM, &sum, sizeof sum);
  }
  return 0;
}
