/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of IPv4 headers (RFC 791, section 3.1; options.h). Source route, record route
 * and timestamp have a third byte, where the next entry goes, counted from 1.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "wire.h"

enum {
  OPTION_RECORD_ROUTE = 7, OPTION_TIMESTAMP = 68,
  OPTION_LOOSE_ROUTE = 131, OPTION_STRICT_ROUTE = 137, OPTION_COPIED = 0x80,
  OPTION_FIRST_ENTRY = 4
};

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
