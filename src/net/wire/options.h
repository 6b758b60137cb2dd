/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of IPv4 headers (RFC 791, section 3.1) and of TCP's (RFC 9293, section 3.1)
 * have the same form: an option is its type, and but for the first two types its length
 * in bytes, all included.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { OPTION_END = 0, OPTION_NOTHING = 1 };

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
