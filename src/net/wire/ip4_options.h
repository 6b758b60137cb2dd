/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of IPv4 headers (RFC 791, section 3.1). An option is its type, and but for the
 * first two types its length in bytes, all included. Source route, record route and
 * timestamp have a third byte, where the next entry goes, counted from 1.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

enum {
  OPTION_END = 0, OPTION_NOTHING = 1, OPTION_RECORD_ROUTE = 7, OPTION_TIMESTAMP = 68,
  OPTION_LOOSE_ROUTE = 131, OPTION_STRICT_ROUTE = 137, OPTION_COPIED = 0x80,
  OPTION_FIRST_ENTRY = 4
};

/* Bytes of the option at `o`, whose header ends at `end`; 0 if that can't be. */
static inline uint32_t option_length(const uint8_t *o, const uint8_t *end)
{
  return end - o >= 2 && o[1] >= 2 && o[1] <= end - o ? o[1] : 0;
}

/* The first option from `o` on that isn't just padding, and its length; NULL if there is
 * none, or what is there can't be an option. */
static inline const uint8_t *option_from(const uint8_t *o, const uint8_t *end, uint32_t *n)
{
  while (o < end && *o == OPTION_NOTHING)
    o++;
  if (o >= end || *o == OPTION_END)
    return NULL;
  *n = option_length(o, end);
  return *n > 0 ? o : NULL;
}

/* The first sound source route among the options of a header of `length` bytes, or
 * NULL. */
static inline const uint8_t *ip4_source_route(const uint8_t *header, uint32_t length)
{
  const uint8_t *end = header + length;
  uint32_t n = 0;
  for (const uint8_t *o = header + IP4_HEADER; (o = option_from(o, end, &n)); o += n)
    if ((*o == OPTION_LOOSE_ROUTE || *o == OPTION_STRICT_ROUTE) && n >= 3 &&
        o[2] >= OPTION_FIRST_ENTRY && o[2] % 4 == 0 && o[2] <= n + 1)
      return o;
  return NULL;
}
